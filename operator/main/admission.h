// The validating webhook's answer to an AdmissionReview: a pure function over the rules of
// operator/api.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet::operator_main {

inline constexpr char kAdmissionPath[] = "/validate-kubeflow-org-v1-tfjob";

struct AdmissionAnswer {
  int http_code = 200;  // 400 when the request is no AdmissionReview
  bool allowed = false;
  std::string body;  // an AdmissionReview, or plain text
};

// `review` is untrusted; `cluster_domain` is what follows "svc" in TF_CONFIG.
AdmissionAnswer AnswerAdmission(absl::string_view review, absl::string_view cluster_domain = "");

}  // namespace tensorfleet::operator_main
