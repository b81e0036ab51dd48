// spec.runPolicy.activeDeadlineSeconds, to the second: the pass asks to be repeated at that
// instant.
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {

Next EnforceDeadline(Pass& pass) {
  const auto& limit = pass.spec.run_policy.active_deadline_seconds;
  if (!limit || !pass.status.start_time) return Next::kContinue;
  const absl::Time due = *pass.status.start_time + absl::Seconds(*limit);
  if (pass.now.now < due) {
    pass.LookAgainAt(due);
    return Next::kContinue;
  }
  pass.Fail(api::kFailedReason, DeadlineMessage(pass.job));
  return Next::kStop;
}

}  // namespace tensorfleet::plan
