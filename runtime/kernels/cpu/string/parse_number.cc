#include "runtime/kernels/cpu/string/parse_number.h"

#include <charconv>
#include <system_error>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace tensorfleet::cpu {
namespace {

bool ParseWith(absl::string_view text, float* value) { return absl::SimpleAtof(text, value); }
bool ParseWith(absl::string_view text, double* value) { return absl::SimpleAtod(text, value); }

// The quick way for plain decimal notation; what it doesn't take goes the long way.
template <typename T>
bool ParsePlain(absl::string_view text, T* value) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

template <typename T>
bool ParseFloating(absl::string_view text, T* value) {
  // Ends in a digit: neither "inf" nor "nan".
  if (!text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text.back())) &&
      ParsePlain(text, value)) {
    return true;
  }
  text = absl::StripAsciiWhitespace(text);
  absl::string_view digits = text;
  const bool negative = !digits.empty() && digits[0] == '-';
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (absl::EqualsIgnoreCase(digits, "infinity")) return false;
  if (absl::StartsWithIgnoreCase(digits, "0x")) {
    uint64_t whole = 0;
    if (!absl::SimpleHexAtoi(digits, &whole)) return false;
    *value = negative ? -static_cast<T>(whole) : static_cast<T>(whole);
    return true;
  }
  return ParseWith(text, value);
}

template <typename T>
bool ParseInteger(absl::string_view text, T* value) {
  if (ParsePlain(text, value)) return true;
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  return !trimmed.empty() && trimmed[0] != '+' && absl::SimpleAtoi(trimmed, value);
}

}  // namespace

bool ParseNumber(absl::string_view text, float* value) { return ParseFloating(text, value); }
bool ParseNumber(absl::string_view text, double* value) { return ParseFloating(text, value); }
bool ParseNumber(absl::string_view text, int32_t* value) { return ParseInteger(text, value); }
bool ParseNumber(absl::string_view text, int64_t* value) { return ParseInteger(text, value); }

}  // namespace tensorfleet::cpu
