// Numbers that a program prints while it trains, step by step, for curves.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tensorfleet::view {

struct Readings {
  std::vector<double> loss, accuracy;
  std::string step;  // the last one
};

// Looks for "step 12", "loss = 0.5", "accuracy=0.9" and the like in each line of a log.
Readings ReadLog(absl::string_view log);

}  // namespace tensorfleet::view
