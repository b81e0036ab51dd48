// Numbers in base 128, low groups first, as protocol buffers and LevelDB write them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet {

inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 128; value >>= 7) out->push_back(static_cast<char>(value | 128));
  out->push_back(static_cast<char>(value));
}

// Takes a number off the front of `in`; false when there is none that is whole.
inline bool ConsumeVarint(absl::string_view* in, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !in->empty(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(in->front());
    in->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

}  // namespace tensorfleet
