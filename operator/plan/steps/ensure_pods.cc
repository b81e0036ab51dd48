// One pod for each replica that has not finished. A name is free again only when its last holder is
// gone, so a replica never runs twice at a time.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/plan/bodies.h"
#include "operator/plan/gang.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

using api::ReplicaId;
using api::ReplicaSpec;
using api::ReplicaType;

// Bodies of huge jobs are made a portion at a time: TF_CONFIG grows with the job, so all of them
// together grow with its square.
constexpr size_t kMaxBytesPerPass = size_t{16} << 20;

// Where all replicas restart together, none starts before the last one of the old set is gone.
bool WaitsForOldSet(const Pass& pass) {
  return std::any_of(pass.own_pods.begin(), pass.own_pods.end(), [&](const api::Pod* pod) {
    return pod->job_attempt < pass.status.job_restarts;
  });
}

bool ParameterServersAreReady(const Pass& pass) {
  const ReplicaSpec* spec = pass.spec.Find(ReplicaType::kPs);
  for (int index = 0; spec != nullptr && index < spec->replicas; ++index) {
    const ReplicaId id = {ReplicaType::kPs, index};
    if (pass.HasSucceeded(id)) continue;
    const api::Pod* pod = pass.PodOf(id);
    if (pod == nullptr || !pod->is_ready || pod->meta.is_terminating()) return false;
  }
  return true;
}

bool MayStart(const Pass& pass, ReplicaType type) {
  return pass.spec.start_order == api::StartOrder::kAny || type == ReplicaType::kPs ||
         ParameterServersAreReady(pass);
}

// True when the replica's pod is missing and its name is free.
bool IsMissing(Pass& pass, ReplicaId id) {
  if (pass.pods.count(id) > 0 || pass.HasSucceeded(id)) return false;
  const std::string name = api::ReplicaName(pass.job.name, id);
  const auto taken = pass.foreign_pods.find(name);
  if (taken == pass.foreign_pods.end()) return true;
  if (!taken->second) {
    pass.Tell(EventType::kWarning, api::kNameTakenReason,
              absl::StrCat("pod ", name, " exists and belongs to another owner"));
  }
  pass.LookAgainAt(pass.now.now + pass.options.name_taken_retry);
  return false;
}

void WarnOfOverrides(Pass& pass, const ReplicaSpec& spec) {
  if (spec.facts.has_restart_policy) {
    pass.Tell(
        EventType::kWarning, api::kRestartPolicyReason,
        "Restart policy in pod template will be overwritten by restart policy in replica spec");
  }
  const std::string& scheduler = spec.facts.scheduler_name;
  if (!pass.options.gang_scheduler_name.empty() && !scheduler.empty() &&
      scheduler != GangSchedulerName(pass.options)) {
    pass.Tell(EventType::kWarning, api::kSchedulerNameReason,
              "Another scheduler is specified when gang-scheduling is enabled and it will not be "
              "overwritten");
  }
}

// Pods without an owner, as after `kubectl delete --cascade=orphan`, and ours whose labels were
// edited: services select by them.
void Adopt(Pass& pass) {
  for (const api::Pod* pod : pass.own_pods) {
    const api::ChildMeta& meta = pod->meta;
    if ((meta.has_owner && !meta.has_other_labels) || meta.is_terminating() || !meta.replica) {
      continue;
    }
    nlohmann::json metadata = {{"uid", meta.uid},
                               {"resourceVersion", meta.resource_version},
                               {"labels", ReplicaLabels(pass.job, *meta.replica)}};
    if (!meta.has_owner) metadata["ownerReferences"] = OwnerReferences(pass.job);
    pass.Do({ActionKind::kAdoptPod, meta.name, meta.uid,
             nlohmann::json{{"metadata", std::move(metadata)}}.dump(), /*force=*/false});
  }
}

// Returns false when the pass has made enough.
bool CreateMissing(Pass& pass, ReplicaType type, const ReplicaSpec& spec, size_t& bytes) {
  std::optional<PodMaker> maker;
  for (int index = 0; index < spec.replicas; ++index) {
    const ReplicaId id = {type, index};
    if (!IsMissing(pass, id)) continue;
    if (bytes > kMaxBytesPerPass) return false;
    if (!maker) {
      maker.emplace(pass.job, type, pass.options);
      WarnOfOverrides(pass, spec);
    }
    std::string body = maker->Make(index, pass.AttemptOf(id), pass.status.job_restarts);
    bytes += body.size();
    pass.Do({ActionKind::kCreatePod, api::ReplicaName(pass.job.name, id), /*uid=*/"",
             std::move(body), /*force=*/false});
  }
  return true;
}

}  // namespace

Next EnsurePods(Pass& pass) {
  Adopt(pass);
  if (WaitsForOldSet(pass)) return Next::kContinue;
  size_t bytes = 0;
  for (const ReplicaType type : api::kReplicaTypes) {
    const ReplicaSpec* spec = pass.spec.Find(type);
    if (spec == nullptr || !MayStart(pass, type)) continue;
    if (!CreateMissing(pass, type, *spec, bytes)) {
      pass.LookAgainAt(pass.now.now);
      break;
    }
  }
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
