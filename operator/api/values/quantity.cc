#include "operator/api/values/quantity.h"

#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tensorfleet::api {
namespace {

constexpr __int128 kLimit = static_cast<__int128>(1'000) << 63;
constexpr std::array<const char*, 6> kBinary = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

// The decimal exponent of a suffix such as "m" or "e-3".
std::optional<int> DecimalExponent(absl::string_view suffix) {
  constexpr absl::string_view kSuffixes = "num kMGTPE";  // 10^-9, 10^-6, ... 10^18
  if (suffix.empty()) return 0;
  if (suffix.size() == 1 && suffix != " ") {
    const auto position = kSuffixes.find(suffix[0]);
    if (position == absl::string_view::npos) return std::nullopt;
    return static_cast<int>(position) * 3 - 9;
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  int exponent = 0;
  if (suffix[1] == ' ' || !absl::SimpleAtoi(suffix.substr(1), &exponent)) return std::nullopt;
  if (exponent < -40 || exponent > 40) return std::nullopt;
  return exponent;
}

struct Digits {
  __int128 value = 0;  // all digits, without the point
  int after_point = 0;
};

// Takes the number off the front of `text`.
std::optional<Digits> TakeDigits(absl::string_view& text) {
  Digits digits;
  bool point = false;
  size_t used = 0;
  size_t count = 0;
  for (; used < text.size(); ++used) {
    const char c = text[used];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      digits.value = digits.value * 10 + (c - '0');
      digits.after_point += point ? 1 : 0;
      if (digits.value != 0 && ++count > 30) return std::nullopt;
      if (digits.after_point > 60) return std::nullopt;
    } else {
      break;
    }
  }
  const size_t signs = point ? 1 : 0;
  if (used == signs) return std::nullopt;
  text.remove_prefix(used);
  return digits;
}

// value * 10^exponent, rounded away from zero; nothing beyond the limit.
std::optional<__int128> Scale(__int128 value, int exponent) {
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > kLimit) return std::nullopt;
    value *= 10;
  }
  bool inexact = false;
  for (; exponent < 0 && value != 0; ++exponent) {
    inexact = inexact || value % 10 != 0;
    value /= 10;
  }
  if (inexact) ++value;
  if (value > kLimit) return std::nullopt;
  return value;
}

std::string Int128ToString(__int128 value) {
  if (value < 0) return absl::StrCat("-", Int128ToString(-value));
  const auto low = static_cast<uint64_t>(value % 1'000'000'000'000'000'000);
  const auto high = static_cast<uint64_t>(value / 1'000'000'000'000'000'000);
  if (high == 0) return absl::StrCat(low);
  return absl::StrCat(high, absl::Dec(low, absl::kZeroPad18));
}

}  // namespace

std::optional<Quantity> ParseQuantity(absl::string_view text) {
  const bool is_negative = absl::ConsumePrefix(&text, "-");
  if (!is_negative) absl::ConsumePrefix(&text, "+");
  const auto digits = TakeDigits(text);
  if (!digits) return std::nullopt;
  Quantity quantity;
  std::optional<__int128> milli;
  for (size_t i = 0; i < kBinary.size(); ++i) {
    if (text != kBinary[i]) continue;
    quantity.is_binary = true;
    const __int128 unit = static_cast<__int128>(1) << (10 * (i + 1));
    if (digits->value > kLimit / unit) return std::nullopt;
    milli = Scale(digits->value * unit, 3 - digits->after_point);
  }
  if (!quantity.is_binary) {
    const auto exponent = DecimalExponent(text);
    if (!exponent) return std::nullopt;
    milli = Scale(digits->value, *exponent + 3 - digits->after_point);
  }
  if (!milli) return std::nullopt;
  quantity.milli = is_negative ? -*milli : *milli;
  return quantity;
}

Quantity operator+(Quantity a, Quantity b) {
  // Far from overflow: each is below 2^73, and a job has at most thousands of replicas.
  return {a.milli + b.milli, a.is_binary || b.is_binary};
}

std::string ToString(Quantity quantity) {
  if (quantity.milli % 1000 != 0) return absl::StrCat(Int128ToString(quantity.milli), "m");
  __int128 units = quantity.milli / 1000;
  if (!quantity.is_binary || units == 0) return Int128ToString(units);
  size_t steps = 0;
  while (units % 1024 == 0 && steps < kBinary.size()) {
    units /= 1024;
    ++steps;
  }
  return absl::StrCat(Int128ToString(units), steps == 0 ? "" : kBinary[steps - 1]);
}

}  // namespace tensorfleet::api
