// The steps that a worker takes part in: their rendezvous, their private resources, their
// cancellation. A step is there from the first call that names it, which may be a peer's
// RecvTensor. Once it has begun to run it belongs to a session, and ends with CleanupGraph or with
// that session; before, it lives as long as peers wait in it. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/kernels/collectives.h"
#include "runtime/kernels/resource_manager.h"
#include "runtime/session/idle_clock.h"
#include "runtime/session/worker/step_rendezvous.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet {

class PartialRun;
class WorkerSession;

struct WorkerStep : std::enable_shared_from_this<WorkerStep> {
  WorkerStep(int64_t step_id, TransferLog* log)
      : id(step_id), rendezvous(step_id, log), resources("step") {}
  const int64_t id;
  CancellationManager cancellation;
  StepRendezvous rendezvous;
  ResourceManager resources;
  std::unique_ptr<StepCollectives> collectives;  // null until it begins to run here
  // What the step's tensors are charged to; null where nothing is limited. Set before it runs.
  MemoryAccount::Handle memory;

  Mutex mu;
  // Whose step it is and where its peers are; null until it begins to run here.
  std::shared_ptr<WorkerSession> session ABSL_GUARDED_BY(mu);
  std::shared_ptr<PartialRun> partial ABSL_GUARDED_BY(mu);

  IdleClock calls;  // those that are under way, peers' too

  // Ends everything that still waits in this step.
  void Abort(const Status& why);

 private:
  friend class StepTable;
  // Guarded by the table's lock.
  bool has_begun_ = false;
  int peers_ = 0;  // that wait for tensors
};

class StepTable {
 public:
  // `log`: of the steps' rendezvous. Must outlive the steps; may be null.
  explicit StepTable(TransferLog* log = nullptr) : log_(log) {}
  // For a call that runs something: an id that was used before begins anew.
  std::shared_ptr<WorkerStep> Begin(int64_t step_id);
  ~StepTable();
  // For a peer, which may come before Begin, until PeerLeft. Errors: Aborted for a step that is
  // over already.
  StatusOr<std::shared_ptr<WorkerStep>> PeerCame(int64_t step_id);
  void PeerLeft(WorkerStep* step);
  std::shared_ptr<WorkerStep> Find(int64_t step_id) const;  // null when unknown
  // Steps [first, last] of other tasks will not be run here: peers do not wait in them.
  void Skip(int64_t first, int64_t last);
  // Whether it was removed or skipped, as far as that is remembered.
  bool IsOver(int64_t step_id) const {
    MutexLock lock(&mu_);
    return WasLeft(step_id);
  }
  // Null when unknown. The id is remembered for a while, so that a late call does not wait for
  // ever.
  std::shared_ptr<WorkerStep> Remove(int64_t step_id);
  // Removes and aborts the steps of the session; of those, only the ones without a call for
  // `idle_for` as of `now` if that is not 0.
  void EndThoseOf(const WorkerSession& session, const Status& why,
                  std::chrono::nanoseconds idle_for = {}, IdleClock::TimePoint now = {});
  void AbortAll(const Status& why);

 private:
  static constexpr size_t kRemembered = 4096;

  static constexpr size_t kRememberedRanges = 256;

  bool WasLeft(int64_t step_id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<WorkerStep>& Make(int64_t step_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Remember(int64_t step_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  TransferLog* const log_;
  mutable Mutex mu_;
  absl::flat_hash_map<int64_t, std::shared_ptr<WorkerStep>> steps_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<int64_t> over_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> over_ring_ ABSL_GUARDED_BY(mu_);
  size_t over_oldest_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<std::pair<int64_t, int64_t>> skipped_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
