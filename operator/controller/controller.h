// The loop: a job's name comes off the queue, what is seen of it goes into plan::Reconcile, what
// comes out is carried out. Level-triggered: nothing is remembered between passes but how often a
// job has failed and since when a status write is held back, so a controller may be killed at any
// instant and another goes on.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "operator/controller/apply.h"
#include "operator/controller/informers.h"
#include "operator/controller/observer.h"
#include "operator/controller/parallel_runner.h"
#include "operator/k8s/event_recorder.h"
#include "operator/k8s/work_queue.h"
#include "operator/plan/pipeline.h"

namespace tensorfleet::controller {

struct ControllerOptions {
  InformerOptions informers;
  plan::Options plan;
  int threads = 8;             // jobs reconciled at a time
  int parallel_requests = 32;  // requests of all of them at a time, beyond one per thread
  // How long news that can wait (StatusWrite::kSoon) is held back for more of them.
  std::chrono::milliseconds status_delay{1000};
};

class Controller {
 public:
  // `client` and `events` must outlive the controller; `observer` too (may be null). `clock` gives
  // the time that rules see.
  Controller(k8s::Client* client, k8s::EventRecorder* events, const Clock* clock,
             ControllerOptions options, Observer* observer = nullptr);
  ~Controller();

  // Begins to watch. Reconciles start with StartWorkers, once this process may write.
  void StartInformers();
  // Waits until everything has been listed, then reconciles. The error is that of `cancel`.
  Status StartWorkers(CancellationManager* cancel);
  // Lets the reconciles that are running end, then stops watching.
  void Stop();

  bool has_synced() const { return informers_.has_synced(); }
  k8s::WorkQueue& queue() { return queue_; }
  Informers& informers() { return informers_; }
  int busy_workers() const { return busy_; }
  // For how long there has been work of which nothing was done: no job taken, none finished, no
  // request answered.
  std::chrono::nanoseconds standing_still() const;

 private:
  void Work();
  void Move() { last_move_ = clock_->NowSteady().time_since_epoch().count(); }
  // How a pass went. Its requests end in several threads.
  struct Outcome {
    void Note(const Status& status);

    Mutex mu;
    Status failure;  // the first
    bool namespace_is_going = false;
    bool has_written = false;       // status
    bool is_status_stored = false;  // by this pass or before
  };

  // One pass over the job `key`.
  void Reconcile(const std::string& key);
  // What the caches hold of it; nothing when it is gone.
  std::optional<plan::Snapshot> Look(const std::string& key);
  void CarryOut(const std::string& key, const api::TFJob& job, const plan::Plan& todo,
                Outcome& out);
  // Sees to the next pass.
  Observer::Result ComeBack(const std::string& key, const plan::Plan& todo, const Outcome& out);
  // Whether a status write that could wait is made now; if not, the job comes back when it is due.
  bool MayWriteNow(const std::string& key, plan::StatusWrite wish);
  Status ApplyAction(const api::TFJob& job, const plan::Action& action);
  Status WriteStatus(const api::TFJob& job, const plan::Plan& todo);
  k8s::ObjectReference ReferenceTo(const api::TFJob& job) const;
  void Announce(const api::TFJob& job, const plan::Event& event);

  k8s::EventRecorder* const events_;
  const Clock* const clock_;
  const ControllerOptions options_;
  Observer* const observer_;
  Observer no_observer_;
  k8s::WorkQueue queue_;
  Informers informers_;
  Applier applier_;
  ParallelRunner runner_;
  std::atomic<int> busy_{0};
  std::atomic<bool> works_{false};
  // When something was last done, as a count of the clock's steady time.
  std::atomic<int64_t> last_move_{0};
  Mutex mu_;
  // Since when a status write of the job is held back.
  absl::flat_hash_map<std::string, std::chrono::steady_clock::time_point> held_since_
      ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> workers_;
};

}  // namespace tensorfleet::controller
