#include "operator/main/admission.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/api/fields/field_error.h"
#include "operator/api/fields/pod_fields.h"
#include "operator/api/tfjob.h"
#include "operator/api/validate.h"

namespace tensorfleet::operator_main {
namespace {

using nlohmann::json;

std::string StringAt(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

struct Verdict {
  bool allowed = true;
  int code = 403;
  std::string reason = "Forbidden";
  std::string message;
  std::vector<std::string> warnings;  // shown to the user by kubectl and the like
};

Verdict Undecodable(const Status& status) {
  return {false, 400, "BadRequest", std::string(status.message()), {}};
}

// What nobody knows in pod templates: a misspelt field would be dropped, and the pod do without.
// What an object had before is no reason to refuse another change of it.
void CheckPodFields(const json& object, const json* old, std::vector<api::FieldError>& errors,
                    std::vector<std::string>& warnings) {
  constexpr size_t kMaxWarnings = 10;
  const api::UnknownFields found = api::FindUnknownFields(object);
  const api::UnknownFields before =
      old == nullptr ? api::UnknownFields() : api::FindUnknownFields(*old);
  for (const api::FieldError& error : found.mistakes) {
    const auto& known = before.mistakes;
    if (std::find(known.begin(), known.end(), error) == known.end()) errors.push_back(error);
  }
  for (const api::FieldError& error : found.doubtful) {
    if (warnings.size() == kMaxWarnings) return;
    warnings.push_back(error.ToString().substr(0, 120));
  }
}

Verdict Judge(const json& request, absl::string_view cluster_domain) {
  const std::string operation = StringAt(request, "operation");
  if (operation != "CREATE" && operation != "UPDATE") return {};
  const auto object = request.find("object");
  if (object == request.end() || !object->is_object()) {
    return Undecodable(InvalidArgument("the request has no object"));
  }
  const StatusOr<api::TFJob> job = api::TFJobFromJson(*object);
  if (!job.ok()) return Undecodable(job.status());
  std::vector<api::FieldError> errors;
  Verdict verdict;
  const auto old = request.find("oldObject");
  const bool has_old = operation == "UPDATE" && old != request.end() && old->is_object();
  if (has_old) {
    const StatusOr<api::TFJob> old_job = api::TFJobFromJson(*old);
    if (!old_job.ok()) return Undecodable(old_job.status());
    errors = api::ValidateUpdate(*old_job, *job, cluster_domain);
  } else {
    errors = api::Validate(*job, cluster_domain);
  }
  CheckPodFields(*object, has_old ? &*old : nullptr, errors, verdict.warnings);
  if (errors.empty()) return verdict;
  verdict.allowed = false;
  verdict.message = api::JoinErrors(errors);
  return verdict;
}

}  // namespace

AdmissionAnswer AnswerAdmission(absl::string_view review, absl::string_view cluster_domain) {
  const json in = json::parse(review.begin(), review.end(), nullptr, false);
  const auto request = in.is_object() ? in.find("request") : in.end();
  if (!in.is_object() || StringAt(in, "kind") != "AdmissionReview" || request == in.end() ||
      !request->is_object()) {
    return {400, false, "not an AdmissionReview with a request\n"};
  }
  if (StringAt(in, "apiVersion") != "admission.k8s.io/v1") {
    return {400, false, "only admission.k8s.io/v1 is spoken here\n"};
  }
  const Verdict verdict = Judge(*request, cluster_domain);
  json response = {{"uid", StringAt(*request, "uid")}, {"allowed", verdict.allowed}};
  if (!verdict.warnings.empty()) response["warnings"] = verdict.warnings;
  if (!verdict.allowed) {
    response["status"] = {{"status", "Failure"},
                          {"code", verdict.code},
                          {"reason", verdict.reason},
                          {"message", verdict.message}};
  }
  const json out = {
      {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"response", response}};
  return {200, verdict.allowed, out.dump(-1, ' ', false, json::error_handler_t::replace)};
}

}  // namespace tensorfleet::operator_main
