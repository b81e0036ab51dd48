// Signatures of requests to S3 and to stores that speak its protocol: AWS Signature Version 4.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet {

struct S3Credentials {
  std::string access_key, secret_key;
  std::string session_token;  // of temporary credentials; "" otherwise
  std::string region;
};

struct S3Request {
  std::string method;                          // "GET"
  std::string host;                            // with the port when it is not the scheme's own
  std::string path;                            // "/bucket/key" or "/key", not encoded
  std::map<std::string, std::string> query;    // not encoded
  std::map<std::string, std::string> headers;  // lower-case names; all of them are signed
};

// Percent-encodes all but letters, digits and "-_.~"; "/" too unless it is to be kept.
std::string UriEncoded(absl::string_view text, bool keep_slashes);
// The query as it is signed and sent: "list-type=2&prefix=a%2F".
std::string EncodedQuery(const S3Request& request);
// Of the payload, in hexadecimal digits: what the header x-amz-content-sha256 holds.
std::string Sha256Hex(absl::string_view data);

// Adds the headers that a signed request needs, "authorization" included. `utc` is
// "20130524T000000Z".
void SignS3Request(const S3Credentials& credentials, absl::string_view payload_sha256,
                   absl::string_view utc, S3Request* request);

}  // namespace tensorfleet
