#include "runtime/io/s3_signing.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorfleet {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

std::string Hmac(absl::string_view key, absl::string_view data) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest, &size);
  return std::string(reinterpret_cast<char*>(digest), size);
}

std::string SignedNames(const S3Request& request) {
  std::vector<std::string> names;
  for (const auto& [name, value] : request.headers) names.push_back(name);
  return absl::StrJoin(names, ";");
}

std::string CanonicalRequest(const S3Request& request, absl::string_view payload_sha256) {
  std::string headers;
  for (const auto& [name, value] : request.headers) {
    absl::StrAppend(&headers, name, ":", absl::StripAsciiWhitespace(value), "\n");
  }
  return absl::StrCat(request.method, "\n", UriEncoded(request.path, /*keep_slashes=*/true), "\n",
                      EncodedQuery(request), "\n", headers, "\n", SignedNames(request), "\n",
                      payload_sha256);
}

}  // namespace

std::string UriEncoded(absl::string_view text, bool keep_slashes) {
  std::string out;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~' ||
        (c == '/' && keep_slashes)) {
      out.push_back(c);
    } else {
      const std::string hex = absl::BytesToHexString(absl::string_view(&c, 1));
      absl::StrAppend(&out, "%", absl::AsciiStrToUpper(hex));
    }
  }
  return out;
}

std::string EncodedQuery(const S3Request& request) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : request.query) {
    parts.push_back(absl::StrCat(UriEncoded(name, false), "=", UriEncoded(value, false)));
  }
  return absl::StrJoin(parts, "&");
}

std::string Sha256Hex(absl::string_view data) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<char*>(digest), sizeof(digest)));
}

void SignS3Request(const S3Credentials& credentials, absl::string_view payload_sha256,
                   absl::string_view utc, S3Request* request) {
  request->headers["host"] = request->host;
  request->headers["x-amz-content-sha256"] = std::string(payload_sha256);
  request->headers["x-amz-date"] = std::string(utc);
  if (!credentials.session_token.empty()) {
    request->headers["x-amz-security-token"] = credentials.session_token;
  }
  const absl::string_view day = utc.substr(0, 8);
  const std::string scope = absl::StrCat(day, "/", credentials.region, "/s3/aws4_request");
  const std::string to_sign = absl::StrCat(kAlgorithm, "\n", utc, "\n", scope, "\n",
                                           Sha256Hex(CanonicalRequest(*request, payload_sha256)));
  std::string key = absl::StrCat("AWS4", credentials.secret_key);
  for (const absl::string_view part :
       {day, absl::string_view(credentials.region), absl::string_view("s3"),
        absl::string_view("aws4_request")}) {
    key = Hmac(key, part);
  }
  const std::string names = SignedNames(*request);
  request->headers["authorization"] = absl::StrCat(
      kAlgorithm, " Credential=", credentials.access_key, "/", scope, ",SignedHeaders=", names,
      ",Signature=", absl::BytesToHexString(Hmac(key, to_sign)));
}

}  // namespace tensorfleet
