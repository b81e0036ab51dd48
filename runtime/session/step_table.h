// The steps that a worker takes part in: their rendezvous, their private resources, their
// cancellation. A step is there from the first call that names it, which may be a peer's
// RecvTensor, until CleanupGraph. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/kernels/resource_manager.h"
#include "runtime/session/step_rendezvous.h"

namespace tensorfleet {

class PartialRun;

struct WorkerStep {
  WorkerStep(int64_t step_id, TransferLog* log)
      : id(step_id), rendezvous(step_id, log), resources("step") {}
  const int64_t id;
  CancellationManager cancellation;
  StepRendezvous rendezvous;
  ResourceManager resources;

  Mutex mu;
  bool is_bound ABSL_GUARDED_BY(mu) = false;  // the rendezvous knows its task
  std::shared_ptr<PartialRun> partial ABSL_GUARDED_BY(mu);

  // Ends everything that still waits in this step.
  void Abort(const Status& why);
};

class StepTable {
 public:
  // `log`: of the steps' rendezvous. Must outlive the steps; may be null.
  explicit StepTable(TransferLog* log = nullptr) : log_(log) {}
  // For a call that runs something: an id that was used before begins anew.
  std::shared_ptr<WorkerStep> Begin(int64_t step_id);
  // For a peer, which may come before Begin. Errors: Aborted for a step that is over already.
  StatusOr<std::shared_ptr<WorkerStep>> FindOrMake(int64_t step_id);
  std::shared_ptr<WorkerStep> Find(int64_t step_id) const;  // null when unknown
  // Null when unknown. The id is remembered for a while, so that a late call does not wait for
  // ever.
  std::shared_ptr<WorkerStep> Remove(int64_t step_id);
  void AbortAll(const Status& why);

 private:
  static constexpr size_t kRemembered = 4096;

  TransferLog* const log_;
  mutable Mutex mu_;
  absl::flat_hash_map<int64_t, std::shared_ptr<WorkerStep>> steps_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<int64_t> over_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> over_ring_ ABSL_GUARDED_BY(mu_);
  size_t over_oldest_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet
