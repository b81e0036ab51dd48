// RMSProp and Ftrl.
#include "runtime/client/ops.h"
#include "runtime/train/optimizer/optimizers.h"

namespace tensorfleet::train {

void RmsProp::Prepare(const Scope& scope, absl::Span<const GradientAndVariable> gradients,
                      Variables& variables) {
  for (const auto& pair : gradients) {
    MakeSlot(scope, variables, pair.variable, "rms", Ones());
    if (options_.centered) MakeSlot(scope, variables, pair.variable, "mg", Zeros());
    MakeSlot(scope, variables, pair.variable, "momentum", Zeros());
  }
}

Operation RmsProp::ApplyDense(const Scope& scope, const Variable& w, const Output& g) {
  const auto number = [&](const Hyper& hyper) { return hyper.As(scope, w.dtype); };
  const Output ms = Slot(w, "rms").handle, mom = Slot(w, "momentum").handle;
  const Output rate = number(rate_), rho = number(options_.decay);
  const Output momentum = number(options_.momentum), epsilon = number(options_.epsilon);
  if (options_.centered) {
    const Output mg = Slot(w, "mg").handle;
    if (w.is_resource()) {
      return ops::ResourceApplyCenteredRMSProp(scope, w.handle, mg, ms, mom, rate, rho, momentum,
                                               epsilon, g);
    }
    return ops::ApplyCenteredRMSProp(scope, w.handle, mg, ms, mom, rate, rho, momentum, epsilon, g)
        .op();
  }
  if (w.is_resource()) {
    return ops::ResourceApplyRMSProp(scope, w.handle, ms, mom, rate, rho, momentum, epsilon, g);
  }
  return ops::ApplyRMSProp(scope, w.handle, ms, mom, rate, rho, momentum, epsilon, g).op();
}

Operation RmsProp::ApplySparse(const Scope& scope, const Variable& w, const IndexedSlices& g) {
  const auto number = [&](const Hyper& hyper) { return hyper.As(scope, w.dtype); };
  const Output ms = Slot(w, "rms").handle, mom = Slot(w, "momentum").handle;
  const Output rate = number(rate_), rho = number(options_.decay);
  const Output momentum = number(options_.momentum), epsilon = number(options_.epsilon);
  if (options_.centered) {
    const Output mg = Slot(w, "mg").handle;
    if (w.is_resource()) {
      return ops::ResourceSparseApplyCenteredRMSProp(scope, w.handle, mg, ms, mom, rate, rho,
                                                     momentum, epsilon, g.values, g.indices);
    }
    return ops::SparseApplyCenteredRMSProp(scope, w.handle, mg, ms, mom, rate, rho, momentum,
                                           epsilon, g.values, g.indices)
        .op();
  }
  if (w.is_resource()) {
    return ops::ResourceSparseApplyRMSProp(scope, w.handle, ms, mom, rate, rho, momentum, epsilon,
                                           g.values, g.indices);
  }
  return ops::SparseApplyRMSProp(scope, w.handle, ms, mom, rate, rho, momentum, epsilon, g.values,
                                 g.indices)
      .op();
}

void Ftrl::Prepare(const Scope& scope, absl::Span<const GradientAndVariable> gradients,
                   Variables& variables) {
  for (const auto& pair : gradients) {
    MakeSlot(scope, variables, pair.variable, "accum", Constant(options_.initial_accumulator));
    MakeSlot(scope, variables, pair.variable, "linear", Zeros());
  }
}

Operation Ftrl::ApplyDense(const Scope& scope, const Variable& w, const Output& g) {
  const auto number = [&](const Hyper& hyper) { return hyper.As(scope, w.dtype); };
  const Output accum = Slot(w, "accum").handle, linear = Slot(w, "linear").handle;
  const Output rate = number(rate_), power = number(options_.rate_power);
  const Output l1 = number(options_.l1), l2 = number(options_.l2);
  if (w.is_resource()) {
    return ops::ResourceApplyFtrl(scope, w.handle, accum, linear, g, rate, l1, l2, power);
  }
  return ops::ApplyFtrl(scope, w.handle, accum, linear, g, rate, l1, l2, power).op();
}

Operation Ftrl::ApplySparse(const Scope& scope, const Variable& w, const IndexedSlices& g) {
  const auto number = [&](const Hyper& hyper) { return hyper.As(scope, w.dtype); };
  const Output accum = Slot(w, "accum").handle, linear = Slot(w, "linear").handle;
  const Output rate = number(rate_), power = number(options_.rate_power);
  const Output l1 = number(options_.l1), l2 = number(options_.l2);
  if (w.is_resource()) {
    return ops::ResourceSparseApplyFtrl(scope, w.handle, accum, linear, g.values, g.indices, rate,
                                        l1, l2, power);
  }
  return ops::SparseApplyFtrl(scope, w.handle, accum, linear, g.values, g.indices, rate, l1, l2,
                              power)
      .op();
}

}  // namespace tensorfleet::train
