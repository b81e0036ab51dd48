// Gradient descent, momentum, Adagrad.
#include "runtime/client/ops.h"
#include "runtime/train/optimizer/optimizers.h"

namespace tensorfleet::train {

Operation GradientDescent::ApplyDense(const Scope& scope, const Variable& w, const Output& g) {
  const Output rate = rate_.As(scope, w.dtype);
  if (w.is_resource()) return ops::ResourceApplyGradientDescent(scope, w.handle, rate, g);
  return ops::ApplyGradientDescent(scope, w.handle, rate, g).op();
}

Operation GradientDescent::ApplySparse(const Scope& scope, const Variable& w,
                                       const IndexedSlices& g) {
  const Output delta = ops::Mul(scope, g.values, rate_.As(scope, w.dtype));
  return ScatterSub(scope, w, g.indices, delta);
}

void Momentum::Prepare(const Scope& scope, absl::Span<const GradientAndVariable> gradients,
                       Variables& variables) {
  for (const auto& pair : gradients) MakeSlot(scope, variables, pair.variable, "momentum", Zeros());
}

Operation Momentum::ApplyDense(const Scope& scope, const Variable& w, const Output& g) {
  const Output slot = Slot(w, "momentum").handle;
  const Output rate = rate_.As(scope, w.dtype), momentum = momentum_.As(scope, w.dtype);
  if (w.is_resource()) {
    return ops::ResourceApplyMomentum(scope, w.handle, slot, rate, g, momentum,
                                      {.use_nesterov = nesterov_});
  }
  return ops::ApplyMomentum(scope, w.handle, slot, rate, g, momentum, {.use_nesterov = nesterov_})
      .op();
}

Operation Momentum::ApplySparse(const Scope& scope, const Variable& w, const IndexedSlices& g) {
  const Output slot = Slot(w, "momentum").handle;
  const Output rate = rate_.As(scope, w.dtype), momentum = momentum_.As(scope, w.dtype);
  if (w.is_resource()) {
    return ops::ResourceSparseApplyMomentum(scope, w.handle, slot, rate, g.values, g.indices,
                                            momentum, {.use_nesterov = nesterov_});
  }
  return ops::SparseApplyMomentum(scope, w.handle, slot, rate, g.values, g.indices, momentum,
                                  {.use_nesterov = nesterov_})
      .op();
}

void Adagrad::Prepare(const Scope& scope, absl::Span<const GradientAndVariable> gradients,
                      Variables& variables) {
  for (const auto& pair : gradients) {
    MakeSlot(scope, variables, pair.variable, "accumulator", Constant(initial_accumulator_));
  }
}

Operation Adagrad::ApplyDense(const Scope& scope, const Variable& w, const Output& g) {
  const Output slot = Slot(w, "accumulator").handle, rate = rate_.As(scope, w.dtype);
  if (w.is_resource()) return ops::ResourceApplyAdagrad(scope, w.handle, slot, rate, g);
  return ops::ApplyAdagrad(scope, w.handle, slot, rate, g).op();
}

Operation Adagrad::ApplySparse(const Scope& scope, const Variable& w, const IndexedSlices& g) {
  const Output slot = Slot(w, "accumulator").handle, rate = rate_.As(scope, w.dtype);
  if (w.is_resource()) {
    return ops::ResourceSparseApplyAdagrad(scope, w.handle, slot, rate, g.values, g.indices);
  }
  return ops::SparseApplyAdagrad(scope, w.handle, slot, rate, g.values, g.indices).op();
}

}  // namespace tensorfleet::train
