#include "runtime/client/gradients/broadcast.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

// The axes of the broadcast shape over which a target of this shape was repeated.
std::vector<int64_t> RepeatedAxes(const PartialShape& target, const PartialShape& other) {
  const int rank = std::max(target.rank(), other.rank());
  std::vector<int64_t> axes;
  for (int axis = 0; axis < rank; ++axis) {
    const int t = axis - (rank - target.rank()), o = axis - (rank - other.rank());
    const int64_t other_size = o >= 0 ? other.dim(o) : 1;
    if (t < 0 || (target.dim(t) == 1 && other_size != 1)) axes.push_back(axis);
  }
  return axes;
}

}  // namespace

Term ReducedTo(const Term& gradient, const BroadcastShape& target, const BroadcastShape& other) {
  const Scope& scope = gradient.scope();
  if (!target.known.is_fully_defined() || !other.known.is_fully_defined()) {
    const Term shape = target.tensor();
    const Output axes = ops::BroadcastGradientArgs(scope, shape, other.tensor()).r0;
    return Reshaped(SumOver(gradient, axes), shape);
  }
  const std::vector<int64_t> axes = RepeatedAxes(target.known, other.known);
  if (axes.empty()) return gradient;
  const Term sum = SumOf(gradient, axes);
  // Axes of size 1 are gone from the sum unless they were missing from the target.
  const bool only_missing = static_cast<int>(axes.size()) + target.known.rank() ==
                            std::max(target.known.rank(), other.known.rank());
  return only_missing ? sum : Reshaped(sum, Ints(scope, target.known.dims()));
}

Term ReducedToInput(const GradientContext& ctx, const Term& gradient, int i, int other) {
  const auto shape_of = [&ctx](int input) {
    return BroadcastShape{ctx.StaticShapeOfX(input), [&ctx, input] { return ctx.ShapeOfX(input); }};
  };
  return ReducedTo(gradient, shape_of(i), shape_of(other));
}

}  // namespace tensorfleet
