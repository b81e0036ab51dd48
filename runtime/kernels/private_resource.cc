#include "runtime/kernels/private_resource.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tensorfleet {

Status CheckResourceNames(const std::string& container, const std::string& shared_name) {
  const auto is_plain = [](char c) { return absl::ascii_isalnum(c) || c == '.'; };
  const bool is_valid =
      container.empty() ||
      (is_plain(container[0]) && std::all_of(container.begin(), container.end(), [&](char c) {
         return is_plain(c) || c == '-' || c == '/';
       }));
  if (!is_valid) return InvalidArgument("container contains invalid characters: ", container);
  if (absl::StartsWith(shared_name, "_")) {
    return InvalidArgument("shared_name cannot start with '_':", shared_name);
  }
  return OkStatus();
}

}  // namespace tensorfleet
