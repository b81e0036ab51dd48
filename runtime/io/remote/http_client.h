// Requests to stores of files by HTTP(S), by libcurl. Thread-safe; calls block, for a minute at
// most while the store says nothing, or until they are no longer wanted (io_interest.h).
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet {

inline constexpr int kHttpAttempts = 5;

struct HttpRequest {
  std::string scheme;  // of the files it is for: "s3"; what it counts as (store_counters.h)
  std::string method = "GET";
  std::string url;                             // encoded
  std::map<std::string, std::string> headers;  // lower-case names
  absl::string_view body;                      // of PUT and POST
  // "aws:amz:us-east-1:s3": libcurl signs the request so, with this key; "" leaves it unsigned.
  std::string signing_scope, signing_key, signing_secret;
  // Of GET and HEAD, to other http and https addresses.
  bool follows_redirects = false;
  // The address comes from a graph: links of the machine's own (169.254.0.0/16, fe80::/10), where
  // clouds keep the machine's credentials, are refused.
  bool is_of_graph = false;
  size_t most_bytes = size_t{1} << 31;  // of the answer's body; more is ResourceExhausted
  long connect_seconds = 10, silent_seconds = 60;
};

struct HttpResponse {
  long code = 0;
  std::map<std::string, std::string> headers;  // lower-case names, of the last answer
  std::string body;
};

// The answer, whatever its code. No connection, no answer, 429 and 5xx are tried again, `attempts`
// times in all. Errors, which begin with `what`: Unavailable, ResourceExhausted, PermissionDenied,
// FailedPrecondition (no libcurl); IoInterest().
StatusOr<HttpResponse> SendHttp(const HttpRequest& request, absl::string_view what,
                                int attempts = kHttpAttempts);

inline bool IsSuccess(const HttpResponse& response) {
  return response.code >= 200 && response.code < 300;
}

// What an answer that is no success means: NotFound, Unauthenticated, PermissionDenied (with
// `advice` behind), OutOfRange, Unavailable or Unknown, with the store's own words, if any.
Status HttpError(const HttpResponse& response, absl::string_view what, absl::string_view words,
                 absl::string_view advice = "");

// Percent-encodes all but letters, digits and "-_.~"; "/" too unless it is to be kept.
std::string UriEncoded(absl::string_view text, bool keep_slashes);
// "a=1&b=x%2F", sorted by name.
std::string EncodedQuery(const std::map<std::string, std::string>& query);

}  // namespace tensorfleet
