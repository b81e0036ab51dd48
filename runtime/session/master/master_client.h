// A session on a master of this process: no gRPC, no copies of tensors. Calls block. Thread-safe:
// steps may run at the same time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "proto/graph.pb.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/session/master/master.h"

namespace tensorfleet {

class MasterClient {
 public:
  // The master must outlive it. `stop` ends calls that wait, and may be null. Nothing is opened
  // yet.
  MasterClient(Master* master, CancellationManager* stop, tensorflow::ConfigProto config);
  // Closes the session.
  ~MasterClient();
  MasterClient(const MasterClient&) = delete;
  MasterClient& operator=(const MasterClient&) = delete;

  // The first call opens the session with the nodes, which waits for tasks that are not up yet;
  // later ones add theirs. Errors: what importing and placing say.
  Status Extend(const tensorflow::GraphDef& nodes);
  // Runs one step. `args.session_handle` is not looked at. Errors: those of the graph or of its
  // ops, with the node's name; DeadlineExceeded after options.timeout_in_ms or the config's
  // operation_timeout_in_ms; FailedPrecondition before the first Extend, as for all that follow.
  Status Run(RunStepArgs args, RunStepResult* result);
  StatusOr<std::string> PartialRunSetup(const std::vector<std::string>& feeds,
                                        const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets);
  StatusOr<int64_t> MakeCallable(const tensorflow::CallableOptions& options);
  // Values of the callable's fetches, in their order.
  StatusOr<std::vector<Tensor>> RunCallable(int64_t handle, std::vector<Tensor> feeds,
                                            tensorflow::RunMetadata* metadata = nullptr);
  Status ReleaseCallable(int64_t handle);
  StatusOr<std::vector<tensorflow::DeviceAttributes>> ListDevices();
  // Cancels running steps and waits for them. Later calls give Aborted.
  Status Close();

 private:
  StatusOr<std::string> Handle() const;
  CallOptions Call() const;

  Master& master_;
  CancellationManager* const stop_;
  const tensorflow::ConfigProto config_;
  Mutex extend_mu_;  // one Extend at a time
  mutable Mutex mu_;
  std::string handle_ ABSL_GUARDED_BY(mu_);
  int64_t version_ ABSL_GUARDED_BY(extend_mu_) = 0;
};

}  // namespace tensorfleet
