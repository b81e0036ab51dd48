#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"
#include "runtime/train/optimizer/optimizers.h"

namespace tensorfleet::train {

void Adam::Prepare(const Scope& scope, absl::Span<const GradientAndVariable> gradients,
                   Variables& variables) {
  if (!beta1_power_.is_valid()) {
    // Beside the variable whose name comes first, so that all graphs of a job agree.
    const Variable* first = &gradients[0].variable;
    for (const auto& pair : gradients) {
      if (pair.variable.name < first->name) first = &pair.variable;
    }
    const auto power = [&](const char* name, const Hyper& beta) {
      const Scope at = AtVariable(scope.Named(name), *first);
      const Initializer initial = [&beta](const Scope& where, const Shape&, DType dtype) {
        return beta.As(where.Named("Initializer/initial_value"), dtype);
      };
      return variables.MakeBeside(at, Shape(), initial, first->dtype);
    };
    beta1_power_ = power("beta1_power", options_.beta1);
    beta2_power_ = power("beta2_power", options_.beta2);
  }
  for (const auto& pair : gradients) {
    MakeSlot(scope, variables, pair.variable, "m", Zeros());
    MakeSlot(scope, variables, pair.variable, "v", Zeros());
  }
}

Operation Adam::ApplyDense(const Scope& scope, const Variable& w, const Output& g) {
  const auto number = [&](const Hyper& hyper) { return hyper.As(scope, w.dtype); };
  const Output m = Slot(w, "m").handle, v = Slot(w, "v").handle;
  const Output power1 = CastTo(scope, beta1_power_.value, w.dtype);
  const Output power2 = CastTo(scope, beta2_power_.value, w.dtype);
  const Output rate = number(rate_), epsilon = number(options_.epsilon);
  const Output beta1 = number(options_.beta1), beta2 = number(options_.beta2);
  if (w.is_resource()) {
    return ops::ResourceApplyAdam(scope, w.handle, m, v, power1, power2, rate, beta1, beta2,
                                  epsilon, g);
  }
  return ops::ApplyAdam(scope, w.handle, m, v, power1, power2, rate, beta1, beta2, epsilon, g).op();
}

Operation Adam::ApplySparse(const Scope& scope, const Variable& w, const IndexedSlices& g) {
  const auto number = [&](const Hyper& hyper) { return Term(scope, hyper.As(scope, w.dtype)); };
  const Term beta1 = number(options_.beta1), beta2 = number(options_.beta2);
  const Term power1(scope, CastTo(scope, beta1_power_.value, w.dtype));
  const Term power2(scope, CastTo(scope, beta2_power_.value, w.dtype));
  const Term rate = number(rate_) * Of(ops::Sqrt, 1.0 - power2) / (1.0 - power1);
  const Term values(scope, g.values);
  // A moment decays everywhere, then the rows that are there get their share.
  const auto moment = [&](const Variable& slot, const Term& beta, const Term& rows) {
    const Operation decayed = Assign(scope, slot, Term(scope, slot.value) * beta);
    const Operation added =
        ScatterAdd(scope.After({decayed}), slot, g.indices, rows * (1.0 - beta));
    return Term(scope, Read(scope.After({added}), slot));
  };
  const Term m = moment(Slot(w, "m"), beta1, values);
  const Term v = moment(Slot(w, "v"), beta2, values * values);
  return AssignSub(scope, w, rate * m / (Of(ops::Sqrt, v) + number(options_.epsilon)));
}

std::vector<Operation> Adam::Finish(const Scope& scope) {
  const auto advance = [&](const Variable& power, const Hyper& beta) {
    const Scope at = AtVariable(scope, power);
    return Assign(at, power, ops::Mul(at, power.value, beta.As(at, power.dtype)));
  };
  return {advance(beta1_power_, options_.beta1), advance(beta2_power_, options_.beta2)};
}

}  // namespace tensorfleet::train
