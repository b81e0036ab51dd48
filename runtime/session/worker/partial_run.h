// A graph whose feeds arrive, and whose results leave, in several calls. The graph starts with the
// first call and waits in its receives; each call sends what it brings and returns when what it
// asks for is there; the last one waits for the end. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/session/worker/graph_run.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet {

class PartialRun : public std::enable_shared_from_this<PartialRun> {
 public:
  // Starts the graph. Once.
  void Start(const GraphRunArgs& args);

  // Serves one call, which may come before Start. `args` and `result` live until `done`.
  void Call(std::shared_ptr<WorkerStep> step, const RunGraphArgs* args, RunGraphResult* result,
            std::function<void(Status)> done);

 private:
  struct OneCall;
  void Ended(Status status);
  void WhenEnded(std::function<void(Status)> callback);

  Mutex mu_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  Status status_ ABSL_GUARDED_BY(mu_);
  std::vector<std::function<void(Status)>> waiting_ ABSL_GUARDED_BY(mu_);
};

// Puts `sends` into the step's rendezvous. Errors: InvalidArgument for a malformed key.
Status SendAll(const std::vector<NamedTensor>& sends, WorkerStep* step);
// Errors: Internal `Failed to fetch outputs for step N. (Original error message: ...)` for a
// malformed key.
StatusOr<std::vector<RendezvousKey>> ParseFetchKeys(const std::vector<std::string>& keys,
                                                    int64_t step_id);

}  // namespace tensorfleet
