// Keeps gradients from growing too large. Sparse gradients stay sparse.
#pragma once

#include "runtime/client/gradients.h"

namespace tensorfleet::train {

// Each element between `low` and `high`.
Gradient ClipByValue(const Scope& scope, const Gradient& gradient, double low, double high);
// Scaled down so that its length (the root of the sum of squares) is at most `limit`.
Gradient ClipByNorm(const Scope& scope, const Gradient& gradient, double limit);
// The length of all of them together; absent ones count as zeros. Invalid when all are absent.
Output GlobalNorm(const Scope& scope, absl::Span<const Gradient> gradients);
// All scaled by the same factor, so that their length together is at most `limit`.
std::vector<Gradient> ClipByGlobalNorm(const Scope& scope, absl::Span<const Gradient> gradients,
                                       double limit);

}  // namespace tensorfleet::train
