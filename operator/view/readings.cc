#include "operator/view/readings.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "operator/local/progress.h"

namespace tensorfleet::view {

Readings ReadLog(absl::string_view log) {
  Readings readings;
  std::optional<int64_t> step;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    local::Progress of_line("");
    of_line.OnLine(line, {});
    if (of_line.loss() && std::isfinite(*of_line.loss())) readings.loss.push_back(*of_line.loss());
    for (const double value : of_line.accuracy()) readings.accuracy.push_back(value);
    if (of_line.step()) step = of_line.step();
  }
  if (step) readings.step = absl::StrCat(*step);
  return readings;
}

}  // namespace tensorfleet::view
