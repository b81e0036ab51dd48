// Requests to one S3 store, by libcurl, which is loaded when the first is made and signs them.
// Thread-safe; calls block, for a minute at most while the store says nothing, or until they are no
// longer wanted (io_interest.h). What may succeed when tried again (connections that fail, answers
// of 5xx) is tried again a few times.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/io/s3_request.h"

namespace tensorfleet {

struct S3Credentials {
  std::string access_key, secret_key;
  std::string session_token;  // of temporary credentials; "" otherwise
  std::string region;
};

struct S3Config {
  S3Credentials credentials;  // without an access key, requests are not signed
  // "http://localhost:9000"; "": Amazon's own, by region and bucket.
  std::string endpoint;
};

// From the variables that Amazon's tools read: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN, AWS_REGION or AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, and
// TensorFlow's S3_ENDPOINT with S3_USE_HTTPS. `env` gives null for one that is not set.
S3Config S3ConfigFromEnv(const char* (*env)(const char* name));

struct S3Response {
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;
};

class S3Client {
 public:
  static constexpr int kAttempts = 5;

  explicit S3Client(S3Config config) : config_(std::move(config)) {}

  // `request` has method, query and headers; the client fills in the rest for this bucket and key.
  // Errors name "s3://bucket/key": NotFound, PermissionDenied, Unavailable, OutOfRange (a range
  // outside of the object), Unknown with the store's own words; IoInterest().
  StatusOr<S3Response> Call(S3Request request, const std::string& bucket, const std::string& key,
                            absl::string_view body = "", int attempts = kAttempts) const;

 private:
  const S3Config config_;
};

// The text of the first element <name> in `xml`, entities decoded; "" when there is none.
std::string XmlText(absl::string_view xml, absl::string_view name);
// The contents of each element <name>, not decoded.
std::vector<std::string> XmlElements(absl::string_view xml, absl::string_view name);

}  // namespace tensorfleet
