// SHA-256, by OpenSSL.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet {

// In hexadecimal digits, lower case.
std::string Sha256Hex(absl::string_view data);

}  // namespace tensorfleet
