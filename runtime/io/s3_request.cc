#include "runtime/io/s3_request.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorfleet {

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

}  // namespace tensorfleet
