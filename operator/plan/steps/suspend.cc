// spec.runPolicy.suspend: a suspended job has no pods, services or pod group. When resumed it
// starts from scratch, with a new clock.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

// Whatever state the pods are in; but only of a job that is suspended still.
void DeleteEverything(Pass& pass) {
  for (const api::Pod* pod : pass.own_pods) pass.Delete(*pod);
  for (const api::Service* service : pass.own_services) pass.Delete(*service);
  pass.DeletePodGroup();
  pass.must_confirm_job = !pass.plan.actions.empty();
}

}  // namespace

Next Suspend(Pass& pass) {
  if (!pass.spec.run_policy.suspend) return Next::kContinue;
  DeleteEverything(pass);
  const std::string message = absl::StrCat("TFJob ", pass.job.name, " is suspended.");
  if (pass.status.IsTrue(api::kRunning)) {
    pass.Set(api::kRunning, false, api::kSuspendedReason, message);
  }
  auto& conditions = pass.status.conditions;
  conditions.erase(
      std::remove_if(conditions.begin(), conditions.end(),
                     [](const api::Condition& c) { return c.type == api::kRestarting; }),
      conditions.end());
  if (pass.Set(api::kSuspended, true, api::kSuspendedReason, message)) {
    pass.Tell(EventType::kNormal, api::kSuspendedReason, message);
  }
  for (auto& [type, replica] : pass.status.replica_statuses) replica.active = 0;
  pass.status.ready = ReadyText(0, pass.spec.total_replicas());
  return Next::kStop;
}

Next Resume(Pass& pass) {
  if (!pass.status.IsTrue(api::kSuspended)) return Next::kContinue;
  const bool any_left =
      std::any_of(pass.own_pods.begin(), pass.own_pods.end(),
                  [](const api::Pod* pod) { return !pod->meta.is_terminating(); });
  if (any_left) {
    // Suspension was not carried out in full: a pod that stayed would be taken for a new one.
    DeleteEverything(pass);
    return Next::kStop;
  }
  const std::string message = absl::StrCat("TFJob ", pass.job.name, " is resumed.");
  pass.Set(api::kSuspended, false, api::kResumedReason, message);
  pass.Tell(EventType::kNormal, api::kResumedReason, message);
  pass.status.start_time = pass.seconds();
  for (auto& [type, replica] : pass.status.replica_statuses) replica.succeeded_indexes.clear();
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
