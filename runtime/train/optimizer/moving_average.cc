#include "runtime/train/optimizer/moving_average.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet::train {

Variable ExponentialMovingAverage::Average(const Variable& variable) const {
  for (const auto& [name, average] : averages_) {
    if (name == variable.name) return average;
  }
  return {};
}

Operation ExponentialMovingAverage::Apply(const Scope& scope, absl::Span<const Variable> averaged,
                                          Variables& variables) {
  const Scope at = scope.SubScope(name_);
  Hyper keep(1 - decay_);
  if (steps_.is_valid()) {
    const Term n(at, CastTo(at, steps_, DType::kFloat));
    const Term early = (1.0 + n) / (10.0 + n);
    keep = Hyper((1.0 - Of(ops::Minimum, early, early.Number(decay_))).output());
  }
  std::vector<Operation> updates;
  for (const Variable& variable : averaged) {
    if (!scope.status().ok() || !variable.is_valid()) return Operation();
    Variable average = Average(variable);
    if (!average.is_valid()) {
      const Initializer initial = [&](const Scope& where, const Shape&, DType) {
        return Read(where.After({variable.initializer}), variable);
      };
      average = variables.MakeSlot(scope, variable, name_, variable.shape, variable.dtype, initial);
      averages_.emplace_back(variable.name, average);
    }
    const Scope there = AtVariable(at, average);
    const Term distance = Term(there, average.value) - Term(there, Read(there, variable));
    updates.push_back(
        AssignSub(there, average, distance * Term(there, keep.As(there, variable.dtype))));
  }
  return Group(at.Itself(), updates);
}

}  // namespace tensorfleet::train
