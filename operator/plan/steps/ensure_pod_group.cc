// Gang scheduling: the pod group exists before its pods, and Volcano's pods wait until it is
// queued.
#include "absl/strings/str_cat.h"
#include "operator/plan/gang.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

// Pods are not created in this pass; status says since when.
Next Wait(Pass& pass) {
  if (!pass.status.last_reconcile_time) pass.status.last_reconcile_time = pass.seconds();
  return Next::kStop;
}

}  // namespace

Next EnsurePodGroup(Pass& pass) {
  if (pass.options.gang_scheduler_name.empty()) return Next::kContinue;
  const api::PodGroup* group = pass.now.pod_group.get();
  const api::PodGroup wanted = WantedPodGroup(pass.job, group, pass.options);
  if (group == nullptr) {
    pass.Do({ActionKind::kCreatePodGroup, wanted.meta.name, /*uid=*/"",
             PodGroupBody(pass.job, wanted, pass.options), /*force=*/false});
    return Wait(pass);
  }
  if (!group->meta.IsControlledBy(pass.job.uid)) {
    if (!group->meta.is_terminating()) {
      pass.Tell(
          EventType::kWarning, api::kNameTakenReason,
          absl::StrCat("PodGroup ", group->meta.name, " exists and belongs to another owner"));
    }
    pass.LookAgainAt(pass.now.now + pass.options.name_taken_retry);
    return Wait(pass);
  }
  if (group->meta.is_terminating()) return Wait(pass);
  if (SpecsDiffer(*group, wanted)) {
    pass.Do({ActionKind::kUpdatePodGroup, group->meta.name, group->meta.uid,
             PodGroupPatch(*group, wanted, pass.options), /*force=*/false});
  }
  const bool is_queued = !group->phase.empty() && group->phase != "Pending";
  return !IsVolcano(pass.options) || is_queued ? Next::kContinue : Wait(pass);
}

}  // namespace tensorfleet::plan
