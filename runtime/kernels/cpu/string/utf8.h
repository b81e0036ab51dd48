// Characters of UTF-8 text. Bytes that are not valid UTF-8 count as characters of their own.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace tensorfleet::cpu {

// Whether `byte` continues a character that began before it.
inline bool IsUtf8Continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// The number of characters: of bytes that begin one.
inline size_t Utf8Length(absl::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += !IsUtf8Continuation(byte);
  return count;
}

// The position of the character after the one at `position`.
inline size_t Utf8Next(absl::string_view text, size_t position) {
  do {
    ++position;
  } while (position < text.size() && IsUtf8Continuation(text[position]));
  return position;
}

}  // namespace tensorfleet::cpu
