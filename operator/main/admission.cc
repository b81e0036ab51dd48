#include "operator/main/admission.h"

#include <nlohmann/json.hpp>

#include "operator/api/fields/field_error.h"
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
};

Verdict Undecodable(const Status& status) {
  return {false, 400, "BadRequest", std::string(status.message())};
}

Verdict Judge(const json& request) {
  const std::string operation = StringAt(request, "operation");
  if (operation != "CREATE" && operation != "UPDATE") return {};
  const auto object = request.find("object");
  if (object == request.end() || !object->is_object()) {
    return Undecodable(InvalidArgument("the request has no object"));
  }
  const StatusOr<api::TFJob> job = api::TFJobFromJson(*object);
  if (!job.ok()) return Undecodable(job.status());
  std::vector<api::FieldError> errors;
  const auto old = request.find("oldObject");
  if (operation == "UPDATE" && old != request.end() && old->is_object()) {
    const StatusOr<api::TFJob> old_job = api::TFJobFromJson(*old);
    if (!old_job.ok()) return Undecodable(old_job.status());
    errors = api::ValidateUpdate(*old_job, *job);
  } else {
    errors = api::Validate(*job);
  }
  if (errors.empty()) return {};
  return {false, 403, "Forbidden", api::JoinErrors(errors)};
}

}  // namespace

AdmissionAnswer AnswerAdmission(absl::string_view review) {
  const json in = json::parse(review.begin(), review.end(), nullptr, false);
  const auto request = in.is_object() ? in.find("request") : in.end();
  if (!in.is_object() || StringAt(in, "kind") != "AdmissionReview" || request == in.end() ||
      !request->is_object()) {
    return {400, false, "not an AdmissionReview with a request\n"};
  }
  if (StringAt(in, "apiVersion") != "admission.k8s.io/v1") {
    return {400, false, "only admission.k8s.io/v1 is spoken here\n"};
  }
  const Verdict verdict = Judge(*request);
  json response = {{"uid", StringAt(*request, "uid")}, {"allowed", verdict.allowed}};
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
