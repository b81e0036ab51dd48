// One session of a client at a master: its graph, the steps prepared from it, and the workers that
// run them. Thread-safe; calls are asynchronous like those of WorkerInterface.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/timer_queue.h"
#include "runtime/session/compiled_step.h"
#include "runtime/session/master_types.h"
#include "runtime/session/session_graph.h"
#include "runtime/session/worker.h"

namespace tensorfleet {

struct PartialStep;
class StepRun;

class MasterSession : public std::enable_shared_from_this<MasterSession> {
 public:
  using Done = WorkerInterface::Done;

  struct Options {
    std::string handle;
    Worker* worker = nullptr;  // of this process
    TimerQueue* timers = nullptr;
    tensorflow::ConfigProto config;  // merged with the server's defaults
    std::vector<SessionTask> tasks;  // all that the session uses, this one included
    bool name_tasks_in_errors = true;
    SessionGraph::Options graph;
  };
  explicit MasterSession(Options options);
  ~MasterSession();

  const std::string& handle() const { return options_.handle; }
  const std::vector<SessionTask>& tasks() const { return options_.tasks; }

  // The first nodes; the graph's version stays 0. Errors and cost: as Extend.
  Status InitGraph(const tensorflow::GraphDef& def) { return graph_.Extend(def); }
  // Gives the new version. Errors: Aborted `Current version is V but caller expected W.`, what
  // SessionGraph says. Takes long for big graphs: not for a polling thread.
  StatusOr<int64_t> Extend(const tensorflow::GraphDef& def, int64_t expected_version);

  // `args` and `result` live until `done`.
  void RunStep(const CallOptions& call, RunStepArgs* args, RunStepResult* result, Done done);
  StatusOr<std::string> PartialRunSetup(const StepSignature& signature);
  StatusOr<int64_t> MakeCallable(const tensorflow::CallableOptions& options);
  void RunCallable(const CallOptions& call, RunCallableArgs* args, RunStepResult* result,
                   Done done);
  void ReleaseCallable(int64_t handle);

  // Cancels what runs and calls back when nothing runs any more and the other workers were told.
  void Close(Done done);

 private:
  friend class StepRun;
  friend struct PartialStep;
  struct Callable {
    std::shared_ptr<CompiledStep> step;
    tensorflow::RunOptions options;
  };
  // How the names of one request map to a prepared step, whose lists are sorted.
  struct Variant {
    std::shared_ptr<CompiledStep> step;
    std::vector<int> feed_slots;  // by position in the request
    std::vector<int> fetch_slots;
  };

  // Counts a step that runs; false when the session is closed.
  bool EnterStep() ABSL_LOCKS_EXCLUDED(mu_);
  void LeaveStep() ABSL_LOCKS_EXCLUDED(mu_);
  Status ClosedError() const;
  std::shared_ptr<const Variant> FindVariant(const RunStepArgs& args);
  // Finds or starts preparing.
  std::shared_ptr<CompiledStep> Prepare(const StepSignature& signature);
  void Compile(std::shared_ptr<CompiledStep> step, FeedStyle style,
               std::vector<std::pair<std::string, std::string>> connections);
  void Register(std::shared_ptr<CompiledStep> step, SessionGraph::Cut cut);
  void RunPartial(const CallOptions& call, RunStepArgs* args, RunStepResult* result, Done done);
  void DropPartialSteps();
  void DeleteWorkerSessions(Done done);

  const Options options_;
  SessionGraph graph_;
  CancellationManager closing_;

  Mutex extend_mu_;
  int64_t version_ ABSL_GUARDED_BY(extend_mu_) = 0;

  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  int running_ ABSL_GUARDED_BY(mu_) = 0;
  std::function<void()> when_idle_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::shared_ptr<const Variant>> variants_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::shared_ptr<CompiledStep>> steps_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::shared_ptr<PartialStep>> partial_ ABSL_GUARDED_BY(mu_);
  int64_t next_partial_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<int64_t, std::shared_ptr<const Callable>> callables_ ABSL_GUARDED_BY(mu_);
  int64_t next_callable_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet
