// A job that another controller manages, or that is being deleted, is not written to at all: not
// even a condition.
#include "operator/api/objects/labels.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {

Next SkipForeign(Pass& pass) {
  if (pass.job.deletion_time) return Next::kStop;
  const auto& managed_by = pass.spec.run_policy.managed_by;
  return managed_by && *managed_by != api::kManagedByUs ? Next::kStop : Next::kContinue;
}

}  // namespace tensorfleet::plan
