// A session with a master and a worker of its own: one task, "/job:localhost/replica:0/task:0", in
// this process.
#pragma once

#include <memory>

#include "proto/config.pb.h"
#include "runtime/base/status.h"
#include "runtime/session/master/master_client.h"

namespace tensorfleet {

class OpRegistry;
class KernelRegistry;

class LocalSession {
 public:
  // The registries must outlive the session. Sessions share nothing: each has its own variables.
  // Errors: those of the config.
  static StatusOr<std::unique_ptr<LocalSession>> Make(const OpRegistry* ops,
                                                      const KernelRegistry* kernels,
                                                      const tensorflow::ConfigProto& config = {});
  ~LocalSession();

  MasterClient& client();

 private:
  struct State;
  explicit LocalSession(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace tensorfleet
