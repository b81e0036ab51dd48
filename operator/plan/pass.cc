#include "operator/plan/pass.h"

#include "absl/strings/str_cat.h"
#include "operator/api/objects/labels.h"
#include "operator/api/values/timestamp.h"
#include "operator/plan/condition_update.h"

namespace tensorfleet::plan {

using api::Pod;
using api::ReplicaId;
using api::ReplicaType;
using api::Service;

Pass::Pass(const Snapshot& snapshot, const Options& options_in)
    : now(snapshot),
      options(options_in),
      job(*snapshot.job),
      spec(snapshot.job->spec),
      status(snapshot.job->status),
      seconds_(api::WholeSeconds(snapshot.now)) {
  for (const auto& pod : now.pods) {
    if (!pod->meta.IsControlledBy(job.uid) && !IsToBeAdopted(pod->meta)) {
      foreign_pods[pod->meta.name] = pod->meta.is_terminating();
      continue;
    }
    const Pod* seen = Seen(*pod);
    own_pods.push_back(seen);
    if (seen->meta.replica) pods[*seen->meta.replica].push_back(seen);
  }
  for (const auto& service : now.services) {
    if (service->meta.has_owner && !service->meta.IsControlledBy(job.uid)) {
      foreign_services[service->meta.name] = service->meta.is_terminating();
      continue;
    }
    own_services.push_back(service.get());
    if (service->meta.replica) services[*service->meta.replica] = service.get();
  }
}

bool Pass::IsToBeAdopted(const api::ChildMeta& meta) const {
  return !meta.has_owner && !meta.is_terminating() && meta.replica && meta.job_name == job.name &&
         meta.name == api::ReplicaName(job.name, *meta.replica);
}

bool Pass::HasEndedButForSidecars(const Pod& pod) const {
  if (spec.replica_completion != api::ReplicaCompletion::kContainer) return false;
  if (pod.phase != api::PodPhase::kRunning || !pod.exit_code || !pod.meta.replica) return false;
  // Told to end it may have ended for that reason only.
  if (pod.meta.is_terminating() && !HasSucceeded(*pod.meta.replica)) return false;
  const api::ReplicaSpec* replica = spec.Find(pod.meta.replica->type);
  if (replica == nullptr) return false;
  switch (replica->restart_policy) {
    case api::RestartPolicy::kAlways:
      return false;  // the kubelet starts it again
    case api::RestartPolicy::kOnFailure:
      return *pod.exit_code == 0;
    case api::RestartPolicy::kNever:
    case api::RestartPolicy::kExitCode:
      break;
  }
  return true;
}

const Pod* Pass::Seen(const Pod& pod) {
  if (!HasEndedButForSidecars(pod)) return &pod;
  auto copy = std::make_unique<Pod>(pod);
  copy->phase = *pod.exit_code == 0 ? api::PodPhase::kSucceeded : api::PodPhase::kFailed;
  copy->is_ready = false;
  copy->has_running_sidecars = true;
  copy->troubles = nullptr;
  copies_.push_back(std::move(copy));
  return copies_.back().get();
}

bool Pass::IsWanted(ReplicaId id) const {
  const api::ReplicaSpec* replica = spec.Find(id.type);
  return replica != nullptr && id.index >= 0 && id.index < replica->replicas;
}

const Pod* Pass::PodOf(ReplicaId id) const {
  const auto it = pods.find(id);
  return it == pods.end() || it->second.size() != 1 ? nullptr : it->second.front();
}

int Pass::AttemptOf(ReplicaId id) const {
  const auto it = status.replica_statuses.find(id.type);
  if (it == status.replica_statuses.end()) return 0;
  const auto count = [&](const std::map<int32_t, int32_t>& counts) {
    const auto found = counts.find(id.index);
    return found == counts.end() ? 0 : found->second;
  };
  return count(it->second.restarts_by_index) + count(it->second.ignored_by_index);
}

bool Pass::IsStale(const Pod& pod) const {
  if (pod.job_attempt < status.job_restarts) return true;
  return pod.meta.replica && pod.attempt < AttemptOf(*pod.meta.replica);
}

bool Pass::EndedWellUnseen(const Pod& pod) const {
  return pod.phase == api::PodPhase::kSucceeded && pod.meta.replica &&
         pod.job_attempt + 1 == status.job_restarts && pod.attempt >= AttemptOf(*pod.meta.replica);
}

bool Pass::HasSucceeded(ReplicaId id) const {
  const auto it = status.replica_statuses.find(id.type);
  return it != status.replica_statuses.end() && it->second.succeeded_indexes.count(id.index) > 0;
}

std::optional<ReplicaType> Pass::DecidingType() const {
  for (const ReplicaType type : {ReplicaType::kChief, ReplicaType::kMaster, ReplicaType::kWorker}) {
    const api::ReplicaSpec* replica = spec.Find(type);
    if (replica != nullptr && replica->replicas > 0) return type;
  }
  return std::nullopt;
}

void Pass::Delete(const Pod& pod) {
  if (pod.meta.is_terminating()) return;
  Do({ActionKind::kDeletePod, pod.meta.name, pod.meta.uid, /*body=*/"", /*force=*/false});
}

void Pass::DeleteAsSeen(const Pod& pod) {
  if (pod.meta.is_terminating()) return;
  Do({ActionKind::kDeletePod, pod.meta.name, pod.meta.uid, /*body=*/"", /*force=*/false,
      pod.meta.resource_version});
}

void Pass::Delete(const Service& service) {
  if (service.meta.is_terminating() || !service.meta.IsControlledBy(job.uid)) return;
  Do({ActionKind::kDeleteService, service.meta.name, service.meta.uid, /*body=*/"",
      /*force=*/false});
}

void Pass::DeletePodGroup() {
  const api::PodGroup* group = now.pod_group.get();
  if (group == nullptr || group->meta.is_terminating() || !group->meta.IsControlledBy(job.uid)) {
    return;
  }
  Tell(EventType::kNormal, api::kJobTerminatedReason, "Job has been terminated. Deleting PodGroup");
  Do({ActionKind::kDeletePodGroup, group->meta.name, group->meta.uid, /*body=*/"",
      /*force=*/false});
}

void Pass::Tell(EventType type, absl::string_view reason, std::string message) {
  plan.events.push_back({type, std::string(reason), std::move(message)});
}

void Pass::LookAgainAt(absl::Time time) {
  if (!plan.requeue_at || time < *plan.requeue_at) plan.requeue_at = time;
}

bool Pass::Set(absl::string_view type, bool is_true, absl::string_view reason,
               std::string message) {
  return SetCondition(status, type, is_true, reason, std::move(message), seconds_);
}

void Pass::End() {
  if (!status.completion_time) status.completion_time = seconds_;
  status.ready = ReadyText(0, spec.total_replicas());
}

void Pass::Succeed() {
  std::string message =
      absl::StrCat("TFJob ", job.namespace_, "/", job.name, " successfully completed.");
  if (!Set(api::kSucceeded, true, api::kSucceededReason, message)) return;
  Tell(EventType::kNormal, api::kSucceededReason, std::move(message));
  ++plan.counters.succeeded;
  // Parameter servers and the like, which do not end by themselves, have done their part.
  for (auto& [type, replica] : status.replica_statuses) {
    replica.succeeded += replica.active;
    replica.active = 0;
  }
  End();
}

void Pass::Fail(absl::string_view reason, std::string message) {
  FailAs(EventType::kNormal, reason, std::move(message));
}

void Pass::FailWithWarning(absl::string_view reason, std::string message) {
  FailAs(EventType::kWarning, reason, std::move(message));
}

void Pass::FailAs(EventType type, absl::string_view reason, std::string message) {
  if (job.is_finished()) return;
  // Whoever asks whether it runs is told that it does not, also when it never came to that.
  if (status.start_time && status.Find(api::kRunning) == nullptr) {
    Set(api::kRunning, false, reason,
        absl::StrCat("TFJob ", job.namespace_, "/", job.name, " is not running."));
  }
  if (!Set(api::kFailed, true, reason, message)) return;
  Tell(type, reason, std::move(message));
  ++plan.counters.failed;
  End();
}

std::string ReadyText(int64_t ready, int64_t wanted) { return absl::StrCat(ready, "/", wanted); }

std::string DeadlineMessage(const api::TFJob& job) {
  return absl::StrCat("Job ", job.name,
                      " has failed because it was active longer than specified deadline");
}

std::string BackoffMessage(const api::TFJob& job) {
  return absl::StrCat("Job ", job.name,
                      " has failed because it has reached the specified backoff limit");
}

std::string PendingMessagePrefix(const api::TFJob& job) {
  return absl::StrCat("Job ", job.name, " has failed because it waited too long for pod ");
}

}  // namespace tensorfleet::plan
