// Requests to S3 and to stores that speak its protocol, in the form in which they are signed and
// sent. libcurl signs them.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet {

struct S3Request {
  std::string method;                          // "GET"
  std::string host;                            // with the port when it is not the scheme's own
  std::string path;                            // "/bucket/key" or "/key", not encoded
  std::map<std::string, std::string> query;    // not encoded
  std::map<std::string, std::string> headers;  // lower-case names
};

// Percent-encodes all but letters, digits and "-_.~"; "/" too unless it is to be kept.
std::string UriEncoded(absl::string_view text, bool keep_slashes);
// "list-type=2&prefix=a%2F", sorted by name. Signatures are made of exactly this form, and libcurl
// before 8.0 signs the query as it is given.
std::string EncodedQuery(const S3Request& request);

}  // namespace tensorfleet
