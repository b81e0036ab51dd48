#include "runtime/base/utf8.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace tensorfleet {
namespace {

// The length of the character that `bytes` begin with, as RFC 3629 has it; 0 when they begin with
// none.
size_t CharacterAt(absl::string_view bytes) {
  const auto at = [bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // Longer than need be, halves of pairs, and what is beyond the last character.
  const uint8_t second = at(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) {
    return 0;
  }
  return length;
}

}  // namespace

std::string Utf8Text(absl::string_view bytes, size_t max_bytes) {
  std::string text;
  size_t done = 0;
  while (done < bytes.size()) {
    const size_t length = CharacterAt(bytes.substr(done));
    const size_t taken = length == 0 ? 1 : length;
    if (done + taken > max_bytes) return text + " ... [truncated]";
    if (length == 0) {
      absl::StrAppend(&text, "\\x", absl::Hex(static_cast<uint8_t>(bytes[done]), absl::kZeroPad2));
    } else {
      text.append(bytes.data() + done, length);
    }
    done += taken;
  }
  return text;
}

}  // namespace tensorfleet
