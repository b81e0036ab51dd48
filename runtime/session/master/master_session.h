// One session of a client at a master: its graph, what was prepared from it, and the workers that
// run them. Thread-safe; calls are asynchronous like those of WorkerInterface.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/timer_queue.h"
#include "runtime/session/idle_clock.h"
#include "runtime/session/master/graph_cache.h"
#include "runtime/session/master/master_types.h"
#include "runtime/session/master/prepare_wait.h"
#include "runtime/session/master/prepared_graph.h"
#include "runtime/session/master/session_graph.h"
#include "runtime/session/worker/worker.h"

namespace tensorfleet {

struct PartialStep;
class Instalment;
class StepRun;

class MasterSession : public std::enable_shared_from_this<MasterSession> {
 public:
  using Done = WorkerInterface::Done;
  template <typename T>
  using DoneWith = WorkerInterface::DoneWith<T>;

  struct Options {
    std::string handle;
    Worker* worker = nullptr;  // of this process
    TimerQueue* timers = nullptr;
    ThreadPool* compile_pool = nullptr;  // where graphs are prepared; must outlive the session
    GraphCache::Limits cached_graphs;
    tensorflow::ConfigProto config;  // merged with the server's defaults
    std::vector<SessionTask> tasks;  // all that the session uses, this one included
    bool name_tasks_in_errors = true;
    SessionGraph::Options graph;
    // The task that hands out the ids of steps with collectives, and how it is reached; empty: this
    // one.
    std::string collective_leader;
    std::function<std::shared_ptr<WorkerInterface>()> find_collective_leader;
  };
  explicit MasterSession(Options options);
  ~MasterSession();

  const std::string& handle() const { return options_.handle; }
  // Its client's; steps that run count as long as they do.
  IdleClock& requests() { return requests_; }
  const std::vector<SessionTask>& tasks() const { return options_.tasks; }

  // The first nodes; the graph's version stays 0. Errors and cost: as Extend.
  Status InitGraph(const tensorflow::GraphDef& def) { return graph_.Extend(def); }
  // Gives the new version. Errors: Aborted `Current version is V but caller expected W.`, what
  // SessionGraph says. Takes long for big graphs: not for a polling thread.
  StatusOr<int64_t> Extend(const tensorflow::GraphDef& def, int64_t expected_version);

  // `args` and `result` live until `done`.
  void RunStep(const CallOptions& call, RunStepArgs* args, RunStepResult* result, Done done);
  // These two give a handle once the graph is prepared. Errors: those of preparing it.
  void PartialRunSetup(const CallOptions& call, const Signature& signature,
                       DoneWith<std::string> done);
  void MakeCallable(const CallOptions& call, const tensorflow::CallableOptions& options,
                    DoneWith<int64_t> done);
  void RunCallable(const CallOptions& call, RunCallableArgs* args, RunStepResult* result,
                   Done done);
  void ReleaseCallable(int64_t handle);

  // Cancels what runs and calls back when nothing runs any more and the other workers were told.
  void Close(Done done);

 private:
  friend class Instalment;
  friend class StepRun;
  friend struct PartialStep;
  struct Callable {
    std::shared_ptr<PreparedGraph> graph;
    tensorflow::RunOptions options;
  };
  using Variant = GraphCache::Variant;

  // Counts a step that runs. Errors: ClosedError; ResourceExhausted when too many do.
  Status EnterStep() ABSL_LOCKS_EXCLUDED(mu_);
  void LeaveStep() ABSL_LOCKS_EXCLUDED(mu_);
  Status ClosedError() const;
  // The id of the graph's next step with collectives. `call` ends the waiting for the leader.
  void NextCollectiveStep(int64_t graph_key, const CallOptions& call, DoneWith<int64_t> done);
  std::shared_ptr<const Variant> FindVariant(const RunStepArgs& args);
  // Finds or starts preparing; the lists are sorted. The graph is joined.
  std::shared_ptr<PreparedGraph> Prepare(const Signature& signature, FeedStyle style,
                                         std::string* key);
  PrepareWaitArgs WaitArgs(std::shared_ptr<PreparedGraph> graph, const CallOptions& call,
                           const StepDeadline& deadline);
  void Compile(std::shared_ptr<PreparedGraph> graph, FeedStyle style,
               std::vector<std::pair<std::string, std::string>> connections);
  void Register(std::shared_ptr<PreparedGraph> graph, SessionGraph::Cut cut);
  void RunPartial(const CallOptions& call, RunStepArgs* args, RunStepResult* result, Done done);
  StatusOr<std::string> BeginPartial(std::shared_ptr<PreparedGraph> graph);
  // It takes no more calls; what it holds at the workers goes after the last one that is under way.
  void EndPartial(const std::shared_ptr<PartialStep>& partial) ABSL_LOCKS_EXCLUDED(mu_);
  void CleanUpPartial(PartialStep& partial);
  void DropPartialSteps();
  void DeleteWorkerSessions(Done done);

  const Options options_;
  IdleClock requests_;
  SessionGraph graph_;
  GraphCache prepared_;
  const std::shared_ptr<CancellationManager> closing_ = std::make_shared<CancellationManager>();

  Mutex extend_mu_;
  int64_t version_ ABSL_GUARDED_BY(extend_mu_) = 0;

  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  int running_ ABSL_GUARDED_BY(mu_) = 0;
  std::function<void()> when_idle_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::shared_ptr<PartialStep>> partial_ ABSL_GUARDED_BY(mu_);
  int64_t next_partial_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<int64_t, std::shared_ptr<const Callable>> callables_ ABSL_GUARDED_BY(mu_);
  int64_t next_callable_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet
