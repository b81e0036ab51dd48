// replicaStatuses, from scratch in each pass, save for what must be remembered: which indices have
// succeeded. Pods that are being replaced or scaled away count for nothing.
#include "absl/strings/str_cat.h"
#include "operator/api/objects/labels.h"
#include "operator/plan/exit_events.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

using api::Pod;
using api::PodPhase;
using api::ReplicaStatus;
using api::ReplicaType;

std::string SelectorOf(const Pass& pass, ReplicaType type) {
  return absl::StrCat(api::kJobNameLabel, "=", pass.job.name, ",", api::kOperatorNameLabel, "=",
                      api::kControllerName, ",", api::kReplicaTypeLabel, "=", api::LowerName(type));
}

// A lost pod fails its replica where the policy is never to start one again.
bool IsLostForGood(const api::ReplicaSpec& spec, const Pod& pod) {
  return pod.meta.is_terminating() && spec.restart_policy == api::RestartPolicy::kNever;
}

// Returns 1 when the pod is ready.
int CountPod(Pass& pass, const api::ReplicaSpec& spec, const Pod& pod, ReplicaStatus& status) {
  switch (pod.phase) {
    case PodPhase::kRunning:
      if (pod.meta.is_terminating()) {
        status.failed += IsLostForGood(spec, pod) ? 1 : 0;
        return 0;
      }
      ++status.active;
      return pod.is_ready ? 1 : 0;
    case PodPhase::kSucceeded:
      if (status.succeeded_indexes.insert(pod.meta.replica->index).second) TellExit(pass, pod);
      return 0;
    case PodPhase::kFailed:
      ++status.failed;
      return 0;
    case PodPhase::kPending:
    case PodPhase::kUnknown:
      return 0;
  }
  return 0;
}

int CountType(Pass& pass, ReplicaType type, const api::ReplicaSpec& spec, ReplicaStatus& status) {
  int ready = 0;
  status.selector = SelectorOf(pass, type);
  for (const auto& [id, pods] : pass.pods) {
    if (id.type != type || !pass.IsWanted(id) || pods.size() != 1) continue;
    if (!pass.IsStale(*pods.front())) ready += CountPod(pass, spec, *pods.front(), status);
  }
  for (const int32_t index : status.succeeded_indexes) {
    status.succeeded += index < spec.replicas ? 1 : 0;
  }
  return ready;
}

}  // namespace

Next CountReplicas(Pass& pass) {
  int64_t ready = 0;
  for (auto& [type, status] : pass.status.replica_statuses) {
    status.active = status.succeeded = status.failed = 0;
  }
  for (const ReplicaType type : api::kReplicaTypes) {
    const api::ReplicaSpec* spec = pass.spec.Find(type);
    if (spec != nullptr) ready += CountType(pass, type, *spec, pass.status.replica_statuses[type]);
  }
  pass.status.ready = ReadyText(ready, pass.spec.total_replicas());
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
