#include "operator/api/values/timestamp.h"

namespace tensorfleet::api {

std::string ToTimestamp(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string ToMicroTimestamp(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

std::optional<absl::Time> ParseTimestamp(absl::string_view text) {
  absl::Time time;
  // Abseil would also take "infinite-past" and leading blanks.
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) return std::nullopt;
  return time;
}

absl::Time WholeSeconds(absl::Time time) {
  return absl::FromUnixSeconds(absl::ToUnixSeconds(time));
}

}  // namespace tensorfleet::api
