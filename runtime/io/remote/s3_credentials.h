// Whose requests to S3 are: keys from the environment, or those that a cloud lends to a pod or to a
// machine. Amazon's tools look in the same places in the same order.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/io/remote/expiring.h"

namespace tensorfleet {

struct S3Credentials {
  std::string access_key, secret_key;  // without an access key, requests are not signed
  std::string session_token;           // of temporary credentials; "" otherwise
};

// Where they come from, by the variables that Amazon's tools read.
struct S3Identity {
  S3Credentials keys;  // AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
  // A pod's identity by a signed token: AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN,
  // AWS_ROLE_SESSION_NAME; asked at `sts_endpoint` (AWS_ENDPOINT_URL_STS, else the region's).
  std::string token_file, role, role_session, sts_endpoint;
  // An agent on the node: AWS_CONTAINER_CREDENTIALS_FULL_URI or …_RELATIVE_URI, with
  // AWS_CONTAINER_AUTHORIZATION_TOKEN or …_TOKEN_FILE.
  std::string agent_url, agent_token, agent_token_file;
  // The machine's metadata service: AWS_EC2_METADATA_SERVICE_ENDPOINT; "" is never asked
  // (AWS_EC2_METADATA_DISABLED=true, or a store that is not Amazon's).
  std::string metadata_url;
};

// `env` gives null for a variable that is not set.
S3Identity S3IdentityFromEnv(const char* (*env)(const char* name), const std::string& region,
                             bool is_amazon);

// Thread-safe; asks again before what was lent ends.
class S3CredentialSource {
 public:
  explicit S3CredentialSource(S3Identity identity) : identity_(std::move(identity)) {}
  // Errors name who was asked: Unavailable, PermissionDenied, FailedPrecondition. Where nobody is
  // to be asked, or the machine has no metadata service, there is no access key.
  StatusOr<S3Credentials> Get();

 private:
  const S3Identity identity_;
  Expiring<S3Credentials> lent_;
};

}  // namespace tensorfleet
