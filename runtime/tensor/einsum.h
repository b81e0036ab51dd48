// What an einsum equation says, and how its labels lie in the inputs and the output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/status.h"

namespace tensorfleet {

// The subscripts of each operand, as numbers: 0 and up for letters in the order of their first
// appearance, kEllipsis for "...".
struct EinsumEquation {
  static constexpr int kEllipsis = -1;
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
  int num_labels = 0;
};

// Errors: InvalidArgument, with the equation.
StatusOr<EinsumEquation> ParseEinsum(const std::string& equation);

// The labels of each operand with ellipses written out, so that there is one for each dimension:
// those of ellipses come after the equation's own and count from the last dimension.
struct EinsumLabels {
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
  std::vector<int64_t> sizes;  // by label; of those of ellipses what they broadcast to; -1: open
};

// `shapes` are the inputs' dimensions, -1 where open. Errors: InvalidArgument for shapes that do
// not fit the equation.
StatusOr<EinsumLabels> LabelDimensions(const EinsumEquation& equation,
                                       absl::Span<const absl::Span<const int64_t>> shapes);

}  // namespace tensorfleet
