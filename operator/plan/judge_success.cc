// When the job has succeeded: a chief decides alone; without one the workers do, by successPolicy.
// It is asked before anything else can end the job: a chief that has done its work cannot be failed
// by a straggler, nor by a deadline that passed while nobody looked.
#include "operator/plan/steps.h"

namespace tensorfleet::plan {
namespace {

using api::ReplicaType;

bool WorkerZeroIsDone(const Pass& pass) {
  const api::Pod* pod = pass.PodOf({ReplicaType::kWorker, 0});
  return pod != nullptr && pod->phase == api::PodPhase::kSucceeded && pod->exit_code == 0 &&
         !pass.IsStale(*pod);
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
  if (!all_succeeded && !by_worker_zero) return Next::kContinue;
  pass.Succeed();
  return Next::kStop;
}

}  // namespace tensorfleet::plan
