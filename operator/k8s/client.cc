#include "operator/k8s/client.h"

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "operator/k8s/backoff.h"

namespace tensorfleet::k8s {
namespace {

// 429 says the request was not carried out; a 5xx with Retry-After asks to come back.
bool ShouldRetry(const Response& response) {
  return response.status == 429 ||
         (response.status >= 500 && !http::FindHeader(response.headers, "retry-after").empty());
}

// Of headers such as: 299 - "unknown field \"spec.x\"".
std::vector<std::string> WarningsOf(const http::Headers& headers) {
  constexpr size_t kMaxWarnings = 10;
  std::vector<std::string> warnings;
  for (const auto& [name, value] : headers) {
    if (name != "warning" || warnings.size() == kMaxWarnings) continue;
    const size_t begin = value.find('"');
    if (begin == std::string::npos) continue;
    std::string text;
    for (size_t i = begin + 1; i < value.size() && value[i] != '"'; ++i) {
      if (value[i] == '\\' && i + 1 < value.size()) ++i;
      text += value[i];
    }
    if (!text.empty()) warnings.push_back(std::move(text));
  }
  return warnings;
}

}  // namespace

std::string CollectionPath(absl::string_view group_version, absl::string_view ns,
                           absl::string_view plural) {
  std::string path =
      absl::StrCat(absl::StrContains(group_version, "/") ? "/apis/" : "/api/", group_version);
  if (!ns.empty()) absl::StrAppend(&path, "/namespaces/", ns);
  absl::StrAppend(&path, "/", plural);
  return path;
}

std::string ObjectPath(absl::string_view group_version, absl::string_view ns,
                       absl::string_view plural, absl::string_view name) {
  return absl::StrCat(CollectionPath(group_version, ns, plural), "/", name);
}

std::string QueryEscape(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      absl::StrAppend(&out, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return out;
}

Client::Client(Transport* transport, RateLimiter* limiter, ClientOptions options)
    : transport_(transport), limiter_(limiter), options_(std::move(options)) {}

Client Client::Until(http::Deadline deadline) const {
  ClientOptions options = options_;
  options.deadline = std::min(options.deadline, deadline);
  return Client(transport_, limiter_, std::move(options));
}

StatusOr<std::string> Client::Call(Request request, std::vector<std::string>* warnings) {
  Backoff backoff(std::chrono::milliseconds(100), std::chrono::seconds(10));
  request.cancel = options_.cancel;
  const http::Deadline end = std::min(http::After(options_.request_time), options_.deadline);
  for (int attempt = 0;; ++attempt) {
    if (limiter_ != nullptr) TFLEET_RETURN_IF_ERROR(limiter_->Acquire(request.cancel));
    // Waiting for the limiter or for a server that puts us off is not held against the request.
    request.deadline = std::min(http::After(options_.request_time), options_.deadline);
    StatusOr<Response> response = transport_->Send(request);
    if (options_.observer) options_.observer(request.method, response.ok() ? response->status : 0);
    const auto what = [&] {
      return absl::StrCat(request.method, " ", request.path.substr(0, request.path.find('?')));
    };
    if (!response.ok()) return Prefixed(absl::StrCat(what(), ": "), response.status());
    if (warnings != nullptr) *warnings = WarningsOf(response->headers);
    if (response->status >= 200 && response->status < 300) return std::move(response->body);
    Status error = ErrorFromResponse(what(), *response);
    if (!ShouldRetry(*response) || attempt >= options_.max_retries) return error;
    const auto wait = ApiErrorOf(error)->retry_after.value_or(
        std::chrono::duration_cast<std::chrono::milliseconds>(backoff.Next()));
    if (std::chrono::steady_clock::now() + wait > end) return error;
    TFLEET_RETURN_IF_ERROR(SleepFor(wait, request.cancel));
  }
}

StatusOr<std::string> Client::Get(absl::string_view path) {
  Request request;
  request.path = std::string(path);
  return Call(std::move(request));
}

StatusOr<std::string> Client::Create(absl::string_view collection, std::string body,
                                     std::vector<std::string>* warnings) {
  Request request;
  request.method = "POST";
  request.path = std::string(collection);
  request.body = std::move(body);
  return Call(std::move(request), warnings);
}

StatusOr<std::string> Client::Replace(absl::string_view path, std::string body) {
  Request request;
  request.method = "PUT";
  request.path = std::string(path);
  request.body = std::move(body);
  return Call(std::move(request));
}

StatusOr<std::string> Client::MergePatch(absl::string_view path, std::string body) {
  Request request;
  request.method = "PATCH";
  request.path = std::string(path);
  request.body = std::move(body);
  request.content_type = "application/merge-patch+json";
  return Call(std::move(request));
}

StatusOr<std::string> Client::Apply(absl::string_view path, absl::string_view field_manager,
                                    bool force, std::string body) {
  Request request;
  request.method = "PATCH";
  request.path = absl::StrCat(path, "?fieldManager=", QueryEscape(field_manager),
                              "&force=", force ? "true" : "false");
  request.body = std::move(body);
  // JSON is YAML, and the name the API server knows for apply patches.
  request.content_type = "application/apply-patch+yaml";
  return Call(std::move(request));
}

StatusOr<std::string> Client::Delete(absl::string_view path, const DeleteOptions& options) {
  Request request;
  request.method = "DELETE";
  request.path = std::string(path);
  nlohmann::json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.resource_version;
  }
  if (options.grace_seconds >= 0) body["gracePeriodSeconds"] = options.grace_seconds;
  if (!options.propagation.empty()) body["propagationPolicy"] = options.propagation;
  request.body = body.dump();
  return Call(std::move(request));
}

Status Client::Read(absl::string_view path, std::chrono::nanoseconds time,
                    Transport::OnData on_data, CancellationManager* cancel) {
  Request request;
  request.path = std::string(path);
  request.deadline = http::After(time);
  request.cancel = cancel;
  if (limiter_ != nullptr) TFLEET_RETURN_IF_ERROR(limiter_->Acquire(cancel));
  StatusOr<Response> response = transport_->Stream(request, on_data);
  if (options_.observer) options_.observer("GET", response.ok() ? response->status : 0);
  const std::string what = absl::StrCat("GET ", path.substr(0, path.find('?')));
  if (!response.ok()) return Prefixed(absl::StrCat(what, ": "), response.status());
  if (response->status < 200 || response->status >= 300) return ErrorFromResponse(what, *response);
  return OkStatus();
}

}  // namespace tensorfleet::k8s
