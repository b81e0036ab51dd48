// The fields of pod templates that Kubernetes 1.34 knows: the TFJob's own schema takes whatever
// stands there, so that a resource of half a megabyte is not needed, and a misspelt field would be
// dropped without a word.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "operator/api/fields/field_error.h"

namespace tensorfleet::api {

// Whether objects of `type` ("Pod", "Container", "VolumeMount", ...) have a field of that name.
bool HasPodField(absl::string_view type, absl::string_view field);

struct UnknownFields {
  // Misspelt, or known elsewhere: refused. The detail says what was probably meant.
  std::vector<FieldError> mistakes;
  // May be of a newer Kubernetes: the API server, which gets the pods, decides.
  std::vector<FieldError> doubtful;
};

// Of the pod templates of a TFJob as it was submitted.
UnknownFields FindUnknownFields(const nlohmann::json& job);

}  // namespace tensorfleet::api
