// Text for messages whose strings must be UTF-8, as protobuf's must: readers refuse a message with
// any other bytes as a whole.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet {

// `bytes` with each one that is not part of a character of UTF-8 spelled out: "\xff". At most
// `max_bytes` of them; what is longer ends in " ... [truncated]", never within a character.
std::string Utf8Text(absl::string_view bytes, size_t max_bytes = std::string::npos);

}  // namespace tensorfleet
