// Where the collective ops of one step meet. Members in this process hand each other their tensors;
// others' pieces travel by the step's rendezvous.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/collectives.h"
#include "runtime/session/worker/collective/worker_collectives.h"
#include "runtime/session/worker/step_table.h"

namespace tensorfleet {

class CollectiveRun;

class SessionStepCollectives final : public StepCollectives {
 public:
  // `step` owns this.
  SessionStepCollectives(WorkerStep* step, WorkerCollectives* worker,
                         WorkerCollectives::Place place, ThreadPool* pool)
      : step_(step), worker_(worker), place_(std::move(place)), pool_(pool) {}

  void Run(CollectiveArgs args, Done done) override;
  void JoinGroup(CollectiveArgs args, Joined done) override;

  WorkerStep* step() const { return step_; }
  WorkerCollectives* worker() const { return worker_; }
  const WorkerCollectives::Place& place() const { return place_; }
  ThreadPool* pool() const { return pool_; }

  // A member of a group that is all in this process brings what it has; the last one makes the
  // results. A run that is over must not wait any longer.
  void Meet(std::shared_ptr<CollectiveRun> run) ABSL_LOCKS_EXCLUDED(mu_);
  void LeaveMeeting(const CollectiveRun& run) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Meeting = std::vector<std::shared_ptr<CollectiveRun>>;  // by rank

  WorkerStep* const step_;
  WorkerCollectives* const worker_;
  const WorkerCollectives::Place place_;
  ThreadPool* const pool_;
  Mutex mu_;
  absl::flat_hash_map<std::string, Meeting> meetings_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
