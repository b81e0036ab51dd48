// Each failed replica is judged: replaced, borne, or the end of the job.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/plan/exit_events.h"
#include "operator/plan/failure_verdict.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

using api::Pod;
using api::PodPhase;
using api::ReplicaSpec;
using api::ReplicaType;
using api::RestartPolicy;

// Failed, or lost in a way that matters: with policy Never a running pod that goes away is a
// failure; where all replicas restart together its going is the occasion.
bool HasFailed(const Pass& pass, const ReplicaSpec& spec, const Pod& pod) {
  if (pod.phase == PodPhase::kFailed) return true;
  if (pod.phase != PodPhase::kRunning || !pod.meta.is_terminating()) return false;
  return spec.restart_policy == RestartPolicy::kNever ||
         pass.spec.restart_scope == api::RestartScope::kJob;
}

bool IsFailure(Verdict verdict) {
  return verdict == Verdict::kFail || verdict == Verdict::kFailPermanently;
}

int64_t MaxFailedWorkers(const Pass& pass) {
  const api::FailurePolicy& policy = pass.spec.failure_policy;
  if (policy.max_failed_workers) return *policy.max_failed_workers;
  const ReplicaSpec* workers = pass.spec.Find(ReplicaType::kWorker);
  if (!policy.max_failed_workers_percent || workers == nullptr) return 0;
  return int64_t{workers->replicas} * *policy.max_failed_workers_percent / 100;
}

// Workers may be borne as lost: any number of dynamic ones, unless their exit code says that no
// worker can do better; else as many as failurePolicy allows.
void Tolerate(Pass& pass) {
  const auto is_lost_worker = [&](const FailedReplica& failed) {
    return failed.id.type == ReplicaType::kWorker && IsFailure(failed.verdict) &&
           !IsFailedByRule(pass, *failed.pod);
  };
  const int64_t lost = std::count_if(pass.failures.begin(), pass.failures.end(), is_lost_worker);
  const bool within_limit = lost <= MaxFailedWorkers(pass);
  for (FailedReplica& failed : pass.failures) {
    if (!is_lost_worker(failed)) continue;
    const bool dynamic = pass.spec.enable_dynamic_worker && failed.verdict == Verdict::kFail;
    if (within_limit || dynamic) failed.verdict = Verdict::kTolerated;
  }
}

std::string FailureMessage(const Pass& pass, const FailedReplica& failed) {
  const absl::string_view type = api::CanonicalName(failed.id.type);
  if (failed.verdict == Verdict::kFailPermanently) {
    return absl::StrCat("job \"", pass.job.name, "\" is failing because \"", type,
                        "\" replica(s) failed.");
  }
  const auto count =
      std::count_if(pass.failures.begin(), pass.failures.end(), [&](const FailedReplica& other) {
        return other.id.type == failed.id.type && other.verdict == Verdict::kFail;
      });
  return absl::StrCat("TFJob ", pass.job.namespace_, "/", pass.job.name, " has failed because ",
                      count, " ", type, " replica(s) failed.");
}

// Without a chief, the job is over when no worker is left to wait for.
Next EndWhenNoWorkerIsLeft(Pass& pass) {
  if (pass.DecidingType() != ReplicaType::kWorker) return Next::kContinue;
  const int64_t borne = std::count_if(
      pass.failures.begin(), pass.failures.end(),
      [](const FailedReplica& failed) { return failed.verdict == Verdict::kTolerated; });
  const int64_t succeeded = pass.status.replica_statuses[ReplicaType::kWorker].succeeded;
  if (borne == 0 || succeeded + borne < pass.spec.Find(ReplicaType::kWorker)->replicas) {
    return Next::kContinue;
  }
  if (succeeded > 0) {
    pass.Succeed();
  } else {
    pass.Fail(api::kFailedReason,
              absl::StrCat("TFJob ", pass.job.namespace_, "/", pass.job.name,
                           " has failed because ", borne, " Worker replica(s) failed."));
  }
  return Next::kStop;
}

}  // namespace

Next JudgeFailures(Pass& pass) {
  for (const auto& [id, pods] : pass.pods) {
    if (!pass.IsWanted(id) || pods.size() != 1 || pass.IsStale(*pods.front())) continue;
    const ReplicaSpec& spec = *pass.spec.Find(id.type);
    const Pod& pod = *pods.front();
    if (HasFailed(pass, spec, pod)) pass.failures.push_back({id, &pod, JudgePod(pass, spec, pod)});
  }
  Tolerate(pass);
  for (const FailedReplica& failed : pass.failures) {
    if (!IsFailure(failed.verdict)) continue;
    TellExit(pass, *failed.pod);
    pass.plan.counters.failed_pods = static_cast<int>(
        std::count_if(pass.failures.begin(), pass.failures.end(),
                      [](const FailedReplica& other) { return IsFailure(other.verdict); }));
    std::string message = FailureMessage(pass, failed);
    if (failed.verdict == Verdict::kFailPermanently) {
      pass.FailWithWarning(api::kFailedReason, std::move(message));
    } else {
      pass.Fail(api::kFailedReason, std::move(message));
    }
    return Next::kStop;
  }
  return EndWhenNoWorkerIsLeft(pass);
}

}  // namespace tensorfleet::plan
