// Resource quantities ("500m", "4Gi", "1e3"), as far as adding them up needs.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet::api {

// An exact number of thousandths of a unit, and the suffix family to write it in.
struct Quantity {
  __int128 milli = 0;
  bool is_binary = false;  // Ki, Mi, ...: written so when it divides evenly
};

// Nothing when `text` is no quantity or lies beyond +-2^63 units; finer than a thousandth rounds
// up.
std::optional<Quantity> ParseQuantity(absl::string_view text);
Quantity operator+(Quantity a, Quantity b);
// The shortest exact form: "1500m", "3", "4Gi".
std::string ToString(Quantity quantity);

}  // namespace tensorfleet::api
