// Requests to one S3 store. Thread-safe; see http_client.h for how long they may take.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/io/remote/http_client.h"
#include "runtime/io/remote/s3_credentials.h"

namespace tensorfleet {

struct S3Config {
  S3Identity identity;
  std::string region;
  // "http://localhost:9000"; "": Amazon's own, by region and bucket.
  std::string endpoint;
};

// From the variables that Amazon's tools read: those of s3_credentials.h, AWS_REGION or
// AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, and TensorFlow's S3_ENDPOINT with
// S3_USE_HTTPS. `env` gives null for one that is not set.
S3Config S3ConfigFromEnv(const char* (*env)(const char* name));

struct S3Request {
  std::string method;                          // "GET"
  std::map<std::string, std::string> query;    // not encoded
  std::map<std::string, std::string> headers;  // lower-case names
};

class S3Client {
 public:
  explicit S3Client(S3Config config) : config_(std::move(config)), credentials_(config_.identity) {}

  // Errors name "s3://bucket/key": NotFound, PermissionDenied, Unavailable, OutOfRange (a range
  // outside of the object), Unknown with the store's own words; those of S3CredentialSource;
  // IoInterest().
  StatusOr<HttpResponse> Call(S3Request request, const std::string& bucket, const std::string& key,
                              absl::string_view body = "", int attempts = kHttpAttempts) const;

 private:
  const S3Config config_;
  mutable S3CredentialSource credentials_;
};

}  // namespace tensorfleet
