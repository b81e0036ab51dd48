// --log_level and --log_format, shared by the commands.
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace CLI {
class App;
}

namespace tensorfleet::cli {

struct LogFlags {
  std::string level = "info";
  std::string format = "console";
  void AddTo(CLI::App* command);
  // Errors: InvalidArgument for an unknown level or format.
  Status Apply() const;
};

}  // namespace tensorfleet::cli
