// The first things that happen to a job: it is noted, and refused if it can never run.
#include "absl/strings/str_cat.h"
#include "operator/api/validate.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {

Next NoteCreated(Pass& pass) {
  if (pass.status.Find(api::kCreated) != nullptr) return Next::kContinue;
  pass.Set(api::kCreated, true, api::kCreatedReason,
           absl::StrCat("TFJob ", pass.job.name, " is created."));
  ++pass.plan.counters.created;
  return Next::kContinue;
}

Next RefuseInvalid(Pass& pass) {
  constexpr size_t kMaxMessage = 1024;
  std::vector<api::FieldError> errors;
  for (api::FieldError& error : api::Validate(pass.job, pass.options.cluster_domain)) {
    if (error.tolerable_once_started && pass.status.start_time) continue;
    errors.push_back(std::move(error));
  }
  if (errors.empty()) return Next::kContinue;
  std::string message = api::JoinErrors(errors);
  if (message.size() > kMaxMessage) message = message.substr(0, kMaxMessage) + "...";
  pass.FailWithWarning(api::kFailedValidationReason, std::move(message));
  return Next::kStop;
}

Next StartClock(Pass& pass) {
  if (!pass.status.start_time) pass.status.start_time = pass.seconds();
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
