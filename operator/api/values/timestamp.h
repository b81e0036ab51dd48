// Kubernetes timestamps: RFC 3339, UTC, whole seconds ("2024-01-05T22:58:20Z").
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace tensorfleet::api {

// Cuts to whole seconds.
std::string ToTimestamp(absl::Time time);
// With microseconds, as Lease and Event series want it ("2024-01-05T22:58:20.000000Z").
std::string ToMicroTimestamp(absl::Time time);
// Any RFC 3339 form, with or without fractions and offsets; nothing when `text` is not one.
std::optional<absl::Time> ParseTimestamp(absl::string_view text);
// `time` without its fraction of a second: what a stored timestamp can say.
absl::Time WholeSeconds(absl::Time time);

}  // namespace tensorfleet::api
