// The session of a training loop. It opens itself, makes the model ready (the chief) or waits until
// it is (the others), runs the hooks around each step, and when a task of the job is lost, opens
// another session and goes on: a step that failed so is run again. Used by one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/base/timer_queue.h"
#include "runtime/client/session.h"
#include "runtime/train/job/train_graph.h"
#include "runtime/train/session/hooks.h"
#include "runtime/train/session/queue_runners.h"

namespace tensorfleet::train {

struct MonitoredSessionOptions {
  const TrainGraph* graph = nullptr;  // must outlive the session
  std::function<StatusOr<std::unique_ptr<Session>>()> open;
  bool is_chief = true;
  // The checkpoint to restore from, asked for when variables are missing. Null: there is none.
  std::function<StatusOr<std::optional<std::string>>()> latest_checkpoint;
  // Ends waits and the loop; null: nothing does.
  CancellationManager* stop = nullptr;
  // How long a session may be sought without success before `stop` is cancelled with
  // DeadlineExceeded; 0: for ever.
  std::chrono::milliseconds give_up_after{0};
};

// Whether a new session may help: a task was lost or has restarted.
bool IsLostTask(const Status& status);

class MonitoredSession {
 public:
  using Feeds = std::vector<std::pair<std::string, Tensor>>;

  MonitoredSession(MonitoredSessionOptions options, std::vector<std::unique_ptr<Hook>> hooks);
  ~MonitoredSession();

  // Opens the session ahead of the first step, which otherwise does. Errors: as Step.
  Status Start();
  // One training step: the train ops, with what the hooks ask for. At the end of the input
  // (OutOfRange) should_stop() becomes true and the step counts as done. Errors: those of the graph
  // and of hooks; Cancelled (or what `stop` says) when stopped.
  Status Step(const Feeds& feeds);
  bool should_stop() const { return should_stop_; }
  int64_t global_step() const { return global_step_; }
  // False while a session is sought or waited for. Any thread may ask.
  bool is_open() const { return is_open_; }
  // How many times a new session was needed.
  int64_t recoveries() const { return recoveries_; }

  // Runs the hooks' ends and closes the session. To be called when training ended without an
  // error; a session that is only destroyed skips the hooks' ends. False when a task was lost
  // meanwhile, and steps with it: they are to be made again, then this. Errors: those of the hooks.
  StatusOr<bool> Finish();

 private:
  Status KeepOpening();
  Status TryOpen();
  Status BeginSyncLoop();
  void StartQueueRunners();
  Status TryStep(const Feeds& feeds);
  Status RunHooks(const std::vector<std::vector<std::string>>& asked,
                  const std::vector<std::string>& fetches, const std::vector<Tensor>& values);
  // Ends the present session; OK when another one may be opened.
  Status Recover(Status why);
  void CloseSession();
  Status stopped() const;

  const MonitoredSessionOptions options_;
  const std::vector<std::unique_ptr<Hook>> hooks_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<QueueRunners> runners_;
  std::atomic<bool> is_open_{false};
  bool should_stop_ = false;
  int64_t global_step_ = 0;
  int64_t recoveries_ = 0;
  int failures_in_a_row_ = 0;
  TimerQueue timers_;
};

}  // namespace tensorfleet::train
