// A finding about one field, in the words of Kubernetes' API errors: "path: Kind: detail".
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tensorfleet::api {

struct FieldError {
  std::string path;    // spec.tfReplicaSpecs[Worker].replicas
  std::string detail;  // Invalid value: -1: must be greater than or equal to 0
  // True for values that training-operator took and gave a meaning to: refused at admission, but no
  // reason to end a job that is already running when we take over.
  bool tolerable_once_started = false;

  std::string ToString() const { return path + ": " + detail; }
  bool operator==(const FieldError&) const = default;
};

FieldError Required(absl::string_view path, absl::string_view why);
FieldError Invalid(absl::string_view path, absl::string_view value_as_json, absl::string_view why);
FieldError Forbidden(absl::string_view path, absl::string_view why);
// `supported` is listed, each in double quotes.
FieldError Unsupported(absl::string_view path, absl::string_view value,
                       const std::vector<std::string>& supported);

// One error stands alone; several are joined as "[e1, e2]".
std::string JoinErrors(const std::vector<FieldError>& errors);

}  // namespace tensorfleet::api
