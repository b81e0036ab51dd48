// When the job has succeeded: a chief decides alone; without one the workers do, by successPolicy.
// It is asked before anything else can end the job: a chief that has done its work cannot be failed
// by a straggler, nor by a deadline that passed while nobody looked.
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

using api::ReplicaType;

bool WorkerZeroIsDone(const Pass& pass) {
  const api::Pod* pod = pass.PodOf({ReplicaType::kWorker, 0});
  return pod != nullptr && pod->phase == api::PodPhase::kSucceeded && pod->exit_code == 0 &&
         (!pass.IsStale(*pod) || pass.EndedWellUnseen(*pod));
}

// A chief that had done its work when all replicas were told to start over, but was not seen to.
bool ChiefIsDone(const Pass& pass, ReplicaType type) {
  const api::Pod* pod = pass.PodOf({type, 0});
  return type != ReplicaType::kWorker && pass.spec.Find(type)->replicas == 1 && pod != nullptr &&
         pass.EndedWellUnseen(*pod);
}

}  // namespace

Next JudgeSuccess(Pass& pass) {
  const auto type = pass.DecidingType();
  if (!type) return Next::kContinue;
  const bool all_succeeded =
      pass.status.replica_statuses[*type].succeeded >= pass.spec.Find(*type)->replicas;
  const bool by_worker_zero = *type == ReplicaType::kWorker &&
                              pass.spec.success_policy != api::SuccessPolicy::kAllWorkers &&
                              WorkerZeroIsDone(pass);
  if (!all_succeeded && !by_worker_zero && !ChiefIsDone(pass, *type)) return Next::kContinue;
  pass.Succeed();
  return Next::kStop;
}

}  // namespace tensorfleet::plan
