#include "runtime/train/optimizer/optimizer.h"

#include <algorithm>

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet::train {

Output Hyper::As(const Scope& scope, DType dtype) const {
  return is_tensor() ? CastTo(scope, tensor_, dtype) : ScalarConst(scope, dtype, value_);
}

std::vector<GradientAndVariable> Optimizer::ComputeGradients(const Scope& scope, const Output& loss,
                                                             absl::Span<const Variable> trained,
                                                             const GradientOptions& options) const {
  std::vector<Output> handles;
  for (const Variable& variable : trained) handles.push_back(variable.handle);
  const std::vector<Gradient> gradients = AddSymbolicGradients(scope, {loss}, handles, {}, options);
  std::vector<GradientAndVariable> pairs;
  for (size_t i = 0; i < trained.size(); ++i) pairs.push_back({gradients[i], trained[i]});
  return pairs;
}

Operation Optimizer::Minimize(const Scope& scope, const Output& loss, Variables& variables) {
  const Variable step = variables.GlobalStep(scope);
  const std::vector<Variable> trained = variables.trainable();
  return ApplyGradients(scope, ComputeGradients(scope, loss, trained), variables, step);
}

Operation Optimizer::Update(const Scope& scope, const GradientAndVariable& pair) {
  const Variable& variable = pair.variable;
  const Scope there = AtVariable(scope.SubScope(absl::StrCat("update_", variable.name)), variable);
  if (!pair.gradient.is_sparse()) return ApplyDense(there, variable, pair.gradient.dense());
  // What prepares the rows stays with the gradient, where the work is.
  const Scope here = scope.SubScope(absl::StrCat("update_", variable.name));
  const IndexedSlices& slices = pair.gradient.slices();
  return ApplySparse(there, variable, wants_unique_rows() ? WithUniqueRows(here, slices) : slices);
}

Operation Optimizer::ApplyGradients(const Scope& scope,
                                    absl::Span<const GradientAndVariable> gradients,
                                    Variables& variables, const Variable& global_step) {
  std::vector<GradientAndVariable> present;
  for (const GradientAndVariable& pair : gradients) {
    if (!pair.gradient.is_absent()) present.push_back(pair);
  }
  if (present.empty()) {
    scope.Fail(InvalidArgument(name_, " was given no gradient for any of ", gradients.size(),
                               " variables: does the loss depend on them?"));
    return Operation();
  }
  Prepare(scope, present, variables);
  const Scope inner = scope.SubScope(name_);
  std::vector<Operation> updates;
  for (const GradientAndVariable& pair : present) {
    if (!scope.status().ok()) return Operation();
    updates.push_back(Update(inner, pair));
  }
  if (!scope.status().ok()) return Operation();
  const std::vector<Operation> last = Finish(inner.After(updates));
  updates.insert(updates.end(), last.begin(), last.end());
  if (!global_step.is_valid()) return Group(inner.Itself(), updates);
  const Operation update = Group(inner.Named("update"), updates);
  const Output one =
      ScalarConst(AtVariable(inner, global_step).Named("value"), global_step.dtype, 1);
  return AssignAdd(inner.After({update}).Itself(), global_step, one);
}

const Variable& Optimizer::Slot(const Variable& variable, absl::string_view name) const {
  static const Variable* const kNone = new Variable();
  const std::string key = absl::StrCat(variable.name, "/", name);
  const auto it = std::find_if(slots_.begin(), slots_.end(),
                               [&](const auto& slot) { return slot.first == key; });
  return it == slots_.end() ? *kNone : it->second;
}

Variable Optimizer::MakeSlot(const Scope& scope, Variables& variables, const Variable& variable,
                             absl::string_view name, const Initializer& initializer) {
  if (const Variable& known = Slot(variable, name); known.is_valid()) return known;
  // All slots of one optimizer bear its name; those after the first get a number, as nodes do.
  const Variable made =
      variables.MakeSlot(scope, variable, name_, variable.shape, variable.dtype, initializer);
  slots_.emplace_back(absl::StrCat(variable.name, "/", name), made);
  return made;
}

IndexedSlices WithUniqueRows(const Scope& scope, const IndexedSlices& slices) {
  const auto unique = ops::Unique(scope, slices.indices, {.out_idx = DType::kInt32});
  const Output values = slices.values;
  const Output count = ops::Reshape(scope, ops::Size(scope, unique.y), Ints(scope, {1}));
  const Output shape = Joined(scope, {count, VectorSlice(scope, ShapeTensor(scope, values), 1)});
  const Output places = ops::ExpandDims(scope, unique.idx, Int(scope, 1));
  return {ops::ScatterNd(scope, places, values, shape), unique.y, slices.dense_shape};
}

}  // namespace tensorfleet::train
