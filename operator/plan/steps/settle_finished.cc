// A job that is over: its pods and services are released as its policies say, its pod group goes,
// and the job itself once its time to live has passed. Nothing is started any more.
#include "absl/strings/match.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

using api::CleanPodPolicy;
using api::Pod;
using api::PodPhase;
using api::ReplicaType;
using api::RestartPolicy;

bool FailedByLimit(const Pass& pass) {
  const api::Condition* failed = pass.status.Find(api::kFailed);
  return failed != nullptr && failed->is_true &&
         (failed->message == DeadlineMessage(pass.job) ||
          failed->message == BackoffMessage(pass.job) ||
          absl::StartsWith(failed->message, PendingMessagePrefix(pass.job)));
}

std::optional<CleanPodPolicy> WrittenPolicy(const Pass& pass, std::optional<ReplicaType> type) {
  const api::ReplicaSpec* spec = type ? pass.spec.Find(*type) : nullptr;
  if (spec != nullptr && spec->clean_pod_policy) return spec->clean_pod_policy;
  return pass.spec.run_policy.clean_pod_policy;
}

// Without a word from the user everything that has ended stays, with its log; what would run on for
// no purpose does not: parameter servers, which never end by themselves, and all that is left of a
// job that was stopped by a limit.
CleanPodPolicy PolicyFor(const Pass& pass, std::optional<ReplicaType> type) {
  if (const auto written = WrittenPolicy(pass, type)) return *written;
  if (type == ReplicaType::kPs || FailedByLimit(pass)) return CleanPodPolicy::kRunning;
  return CleanPodPolicy::kNone;
}

std::optional<ReplicaType> TypeOf(const api::ChildMeta& meta) {
  if (!meta.replica) return std::nullopt;
  return meta.replica->type;
}

enum class Release : uint8_t {
  kNo,
  kWhileItRuns,  // one that has ended meanwhile stays, with its log
  kAlways,
};

Release ReleaseOf(const Pass& pass, const Pod& pod) {
  const auto type = TypeOf(pod.meta);
  const CleanPodPolicy policy = PolicyFor(pass, type);
  if (policy == CleanPodPolicy::kAll) return Release::kAlways;
  // Sidecars would run on for no purpose: only a None that is written down keeps them.
  if (pod.has_running_sidecars && WrittenPolicy(pass, type) != CleanPodPolicy::kNone) {
    return Release::kWhileItRuns;
  }
  if (policy == CleanPodPolicy::kNone || pod.phase == PodPhase::kSucceeded) return Release::kNo;
  if (pod.phase != PodPhase::kFailed) return Release::kWhileItRuns;
  // The kubelet may start such a pod again: it has not ended for good.
  const api::ReplicaSpec* spec = type ? pass.spec.Find(*type) : nullptr;
  const bool may_cycle = spec != nullptr && (spec->restart_policy == RestartPolicy::kOnFailure ||
                                             spec->restart_policy == RestartPolicy::kAlways);
  return may_cycle ? Release::kWhileItRuns : Release::kNo;
}

void ReleaseChildren(Pass& pass) {
  for (const Pod* pod : pass.own_pods) {
    const Release release = ReleaseOf(pass, *pod);
    if (release == Release::kAlways) pass.Delete(*pod);
    if (release == Release::kWhileItRuns) pass.DeleteAsSeen(*pod);
  }
  for (const api::Service* service : pass.own_services) {
    const CleanPodPolicy policy = PolicyFor(pass, TypeOf(service->meta));
    if (policy == CleanPodPolicy::kNone) continue;
    bool has_kept_pod = false;
    for (const Pod* pod : pass.own_pods) {
      if (pod->meta.name != service->meta.name) continue;
      has_kept_pod = !pod->meta.is_terminating() && ReleaseOf(pass, *pod) == Release::kNo;
    }
    if (policy == CleanPodPolicy::kAll || !has_kept_pod) pass.Delete(*service);
  }
  pass.DeletePodGroup();
}

// Jobs that an older operator ended may lack the time, without which none could ever expire.
void FillCompletionTime(Pass& pass) {
  if (pass.status.completion_time) return;
  for (const char* type : {api::kSucceeded, api::kFailed}) {
    const api::Condition* end = pass.status.Find(type);
    if (end == nullptr || !end->is_true) continue;
    pass.status.completion_time = end->last_transition_time.value_or(pass.seconds());
    return;
  }
}

}  // namespace

Next SettleFinished(Pass& pass) {
  if (!pass.job.is_finished()) return Next::kContinue;
  FillCompletionTime(pass);
  const api::RunPolicy& policy = pass.spec.run_policy;
  // Suspended or not: a queue that preempts a job in the moment of its end suspends it, and never
  // resumes what is finished.
  if (policy.ttl_seconds_after_finished) {
    const absl::Time due =
        *pass.status.completion_time + absl::Seconds(*policy.ttl_seconds_after_finished);
    if (pass.now.now >= due) {
      // The children go with their owner. Whoever has given the job more time meanwhile is heard.
      pass.Do({ActionKind::kDeleteJob, pass.job.name, pass.job.uid, /*body=*/"", /*force=*/false,
               pass.job.resource_version});
      ++pass.plan.counters.deleted;
      return Next::kStop;
    }
    pass.LookAgainAt(due);
  }
  ReleaseChildren(pass);
  return Next::kStop;
}

}  // namespace tensorfleet::plan
