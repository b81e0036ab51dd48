// spec.runPolicy.backoffLimit: how many restarts the job may have. Restarts in place are counted by
// the kubelet, those of replaced pods in status, so that neither kind is unlimited.
#include <algorithm>

#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

// By the contract: of containers in Running pods, of types whose policy restarts at all.
int64_t RestartsInPlace(const Pass& pass) {
  int64_t sum = 0;
  for (const auto& [id, pods] : pass.pods) {
    const api::ReplicaSpec* spec = pass.spec.Find(id.type);
    if (spec == nullptr || spec->restart_policy == api::RestartPolicy::kNever) continue;
    for (const api::Pod* pod : pods) {
      if (pod->phase == api::PodPhase::kRunning && !pass.IsStale(*pod)) sum += pod->restart_count;
    }
  }
  return sum;
}

int64_t ReplacedPods(const Pass& pass) {
  int64_t sum = pass.status.job_restarts;
  for (const auto& [type, status] : pass.status.replica_statuses) {
    for (const auto& [index, count] : status.restarts_by_index) sum += count;
  }
  return sum;
}

}  // namespace

Next EnforceBackoffLimit(Pass& pass) {
  const auto& limit = pass.spec.run_policy.backoff_limit;
  if (!limit) return Next::kContinue;
  const int64_t in_place = RestartsInPlace(pass);
  const int64_t replaced = ReplacedPods(pass);
  const bool wants_another =
      std::any_of(pass.failures.begin(), pass.failures.end(), [](const FailedReplica& failed) {
        return failed.verdict == Verdict::kRestart || failed.verdict == Verdict::kRestartJob;
      });
  // The kubelet's restarts have happened already, the ones we are asked for have not.
  const bool reached_in_place = in_place > 0 && in_place + replaced >= std::max(*limit, 1);
  if (!reached_in_place && !(wants_another && in_place + replaced >= *limit)) {
    return Next::kContinue;
  }
  pass.Fail(api::kFailedReason, BackoffMessage(pass.job));
  return Next::kStop;
}

}  // namespace tensorfleet::plan
