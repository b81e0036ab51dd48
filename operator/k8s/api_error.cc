#include "operator/k8s/api_error.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tensorfleet::k8s {
namespace {

constexpr char kPayload[] = "tensorfleet.dev/api-error";

absl::StatusCode CodeFor(int http, absl::string_view reason) {
  if (reason == "AlreadyExists") return absl::StatusCode::kAlreadyExists;
  switch (http) {
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return absl::StatusCode::kAborted;
    case 410:
      return absl::StatusCode::kOutOfRange;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    case 504:
      return absl::StatusCode::kDeadlineExceeded;
    default:
      return http >= 500 ? absl::StatusCode::kUnavailable : absl::StatusCode::kUnknown;
  }
}

Status Make(absl::string_view what, const ApiError& error, absl::string_view message,
            absl::string_view cause) {
  Status status(CodeFor(error.code, error.reason), absl::StrCat(what, ": ", message));
  const int64_t retry = error.retry_after ? error.retry_after->count() : -1;
  status.SetPayload(
      kPayload, absl::Cord(absl::StrCat(error.code, "|", error.reason, "|", retry, "|", cause)));
  return status;
}

// Fills `error` and `message` from a Status object; leaves them alone when `json` is none.
void ReadStatusObject(absl::string_view json, ApiError* error, std::string* message,
                      std::string* cause) {
  const auto object = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  if (!object.is_object() || object.value("kind", nlohmann::json()) != "Status") return;
  const auto code = object.find("code");
  if (code != object.end() && code->is_number_integer()) error->code = code->get<int>();
  const auto reason = object.find("reason");
  if (reason != object.end() && reason->is_string()) error->reason = reason->get<std::string>();
  const auto text = object.find("message");
  if (text != object.end() && text->is_string()) *message = text->get<std::string>();
  const auto details = object.find("details");
  if (details == object.end() || !details->is_object()) return;
  const auto retry = details->find("retryAfterSeconds");
  if (retry != details->end() && retry->is_number_integer() && retry->get<int64_t>() > 0) {
    error->retry_after = std::chrono::seconds(std::min<int64_t>(retry->get<int64_t>(), 3600));
  }
  const auto causes = details->find("causes");
  if (causes != details->end() && causes->is_array() && !causes->empty() &&
      causes->front().is_object()) {
    const auto first = causes->front().find("reason");
    if (first != causes->front().end() && first->is_string()) *cause = first->get<std::string>();
  }
}

std::vector<std::string> PayloadOf(const Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return {};
  return absl::StrSplit(std::string(*payload), '|');
}

}  // namespace

Status ErrorFromResponse(absl::string_view what, const Response& response) {
  ApiError error;
  std::string message, cause;
  ReadStatusObject(response.body, &error, &message, &cause);
  error.code = response.status;
  if (message.empty()) {
    message = absl::StrCat("HTTP ", response.status, " ", response.body.substr(0, 200));
  }
  double seconds = 0;
  if (absl::SimpleAtod(http::FindHeader(response.headers, "retry-after"), &seconds) &&
      seconds >= 0 && seconds < 3600) {
    error.retry_after = std::chrono::milliseconds(static_cast<int64_t>(std::ceil(seconds * 1000)));
  }
  return Make(what, error, message, cause);
}

Status ErrorFromStatusObject(absl::string_view what, absl::string_view json) {
  ApiError error;
  error.code = 500;
  std::string message = "error without a message", cause;
  ReadStatusObject(json, &error, &message, &cause);
  return Make(what, error, message, cause);
}

std::optional<ApiError> ApiErrorOf(const Status& status) {
  const std::vector<std::string> parts = PayloadOf(status);
  if (parts.size() < 3) return std::nullopt;
  ApiError error;
  int64_t retry = -1;
  if (!absl::SimpleAtoi(parts[0], &error.code) || !absl::SimpleAtoi(parts[2], &retry))
    return std::nullopt;
  error.reason = parts[1];
  if (retry >= 0) error.retry_after = std::chrono::milliseconds(retry);
  return error;
}

bool IsExpired(const Status& status) {
  const auto error = ApiErrorOf(status);
  return error && (error->code == 410 || error->reason == "Expired" || error->reason == "Gone");
}

bool IsNameTaken(const Status& status) {
  const auto error = ApiErrorOf(status);
  return error && error->reason == "AlreadyExists";
}

bool IsConflict(const Status& status) {
  const auto error = ApiErrorOf(status);
  return error && error->code == 409 && error->reason != "AlreadyExists";
}

bool IsNamespaceTerminating(const Status& status) {
  const std::vector<std::string> parts = PayloadOf(status);
  return parts.size() > 3 && parts[0] == "403" && parts[3] == "NamespaceTerminating";
}

}  // namespace tensorfleet::k8s
