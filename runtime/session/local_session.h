// A session inside this process: one task, "/job:localhost/replica:0/task:0", no gRPC, no copies of
// tensors. Calls block. Thread-safe: steps may run at the same time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "proto/graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/session/master_types.h"
#include "runtime/session/worker_interface.h"

namespace tensorfleet {

class OpRegistry;
class KernelRegistry;

class LocalSession {
 public:
  // The registries must outlive the session. Sessions share nothing: each has its own variables.
  static StatusOr<std::unique_ptr<LocalSession>> Make(const OpRegistry* ops,
                                                      const KernelRegistry* kernels,
                                                      const tensorflow::ConfigProto& config = {});
  ~LocalSession();

  // Adds nodes to the graph. Errors: what importing and placing say.
  Status Extend(const tensorflow::GraphDef& nodes);
  // Runs one step. `args.session_handle` is not looked at. Errors: those of the graph or of its
  // ops, with the node's name; DeadlineExceeded after options.timeout_in_ms or the config's
  // operation_timeout_in_ms.
  Status Run(RunStepArgs args, RunStepResult* result);
  StatusOr<std::string> PartialRunSetup(const std::vector<std::string>& feeds,
                                        const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets);
  StatusOr<int64_t> MakeCallable(const tensorflow::CallableOptions& options);
  // Values of the callable's fetches, in their order.
  StatusOr<std::vector<Tensor>> RunCallable(int64_t handle, std::vector<Tensor> feeds,
                                            tensorflow::RunMetadata* metadata = nullptr);
  Status ReleaseCallable(int64_t handle);
  std::vector<DeviceAttributes> devices() const;
  // Cancels running steps and waits for them. Later calls give Aborted.
  Status Close();

 private:
  struct State;
  explicit LocalSession(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace tensorfleet
