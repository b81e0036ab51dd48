// The rules a TFJob must obey, used at admission and again by the reconciler.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"

#include "operator/api/fields/field_error.h"
#include "operator/api/tfjob.h"

namespace tensorfleet::api {

// All findings about `job`, in field order; empty when it may run. `cluster_domain` is what follows
// "svc" in TF_CONFIG.
std::vector<FieldError> Validate(const TFJob& job, absl::string_view cluster_domain = "");

// Admission of a change from `old_job` to `job`: Validate plus the rules about what may not change.
// A change to a job that is being deleted or is finished is held to the immutability rules only, so
// that finalizers can be removed from, and labels put on, a job that an older operator let in.
std::vector<FieldError> ValidateUpdate(const TFJob& old_job, const TFJob& job,
                                       absl::string_view cluster_domain = "");

}  // namespace tensorfleet::api
