// Gradients of operands that were broadcast.
#pragma once

#include "runtime/client/gradients/context.h"

namespace tensorfleet {

// `gradient`, which has the shape that inputs `i` and `other` broadcast to, summed over the axes in
// which input `i` was repeated, in the shape of input `i`.
Term ReducedToInput(const GradientContext& ctx, const Term& gradient, int i, int other);

// The same for any two shapes: known ones, and as tensors for when they are not.
struct BroadcastShape {
  PartialShape known;
  std::function<Term()> tensor;
};
Term ReducedTo(const Term& gradient, const BroadcastShape& target, const BroadcastShape& other);

}  // namespace tensorfleet
