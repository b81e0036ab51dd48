// What a server lets its clients have: --max_... and --forbid_ops.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/session/limits.h"

namespace CLI {
class App;
}

namespace tensorfleet::cli {

struct LimitFlags {
  uint64_t memory = 0, tensor_bytes = 0;  // 0: what the machine has
  uint64_t step_bytes = 0, session_bytes = 0;
  Limits limits;
  std::string forbid_ops;
  void AddTo(CLI::App* command);
  // Sets the limits of the process, and gives those of the server. Errors: InvalidArgument for a
  // name that is neither an op nor a group.
  StatusOr<Limits> Apply(const OpRegistry& ops) const;
};

}  // namespace tensorfleet::cli
