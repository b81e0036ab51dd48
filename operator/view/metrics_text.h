// Prometheus' text format, as servers give their metrics. The text is not trusted: what is no
// sample is left out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tensorfleet::view {

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

// At most so many; the rest is left out.
inline constexpr size_t kMostSamples = 100'000;

std::vector<Sample> ParseMetrics(absl::string_view text);

}  // namespace tensorfleet::view
