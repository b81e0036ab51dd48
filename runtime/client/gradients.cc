#include "runtime/client/gradients.h"

#include "runtime/client/gradients/builder.h"
#include "runtime/client/gradients/calls.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

// Outside of loops, forward values are used where they are.
class DirectValues final : public ForwardValues {
 public:
  explicit DirectValues(const Scope& scope) : outside_(scope.AfterNothing()) {}
  Output Value(const Scope&, const Output& output) override { return output; }
  Output Shape(const Scope& scope, const Output& output, DType dtype) override {
    return ShapeTensor(scope, output, dtype);
  }
  Output Measured(const Scope& scope, const Output& output, Measure measure) override {
    return measure(scope, output);
  }
  Scope Outside() const override { return outside_; }

 private:
  const Scope outside_;
};

Status CheckOutputs(absl::Span<const Output> outputs, const char* role) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_valid()) {
      return InvalidArgument(role, "[", i, "] given to AddSymbolicGradients is not valid");
    }
  }
  return OkStatus();
}

Status CheckArguments(absl::Span<const Output> ys, absl::Span<const Output> xs,
                      absl::Span<const Gradient> grad_ys) {
  TFLEET_RETURN_IF_ERROR(CheckOutputs(ys, "ys"));
  TFLEET_RETURN_IF_ERROR(CheckOutputs(xs, "xs"));
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    return InvalidArgument("AddSymbolicGradients was given ", ys.size(), " ys and ", grad_ys.size(),
                           " grad_ys");
  }
  for (size_t i = 0; i < ys.size(); ++i) {
    const DType type = ys[i].dtype();
    if (!IsFloating(type) && !IsComplex(type)) {
      return InvalidArgument("'", ys[i].name(), "' has type ", DTypeName(type),
                             ", which has no gradient");
    }
    if (IsComplex(type) && (grad_ys.empty() || grad_ys[i].is_absent())) {
      return InvalidArgument("'", ys[i].name(), "' is complex: its gradient needs a grad_y");
    }
  }
  return OkStatus();
}

// Where calls were expanded, what gives out their results now.
std::vector<Output> CurrentOf(const Scope& scope, absl::Span<const Output> outputs) {
  std::vector<Output> current;
  for (const Output& output : outputs) current.push_back(scope.Current(output));
  return current;
}

}  // namespace

Output ToDense(const Scope& scope, const Gradient& gradient) {
  if (!gradient.is_sparse()) return gradient.dense();
  const IndexedSlices& slices = gradient.slices();
  // ScatterNd wants indices and shape of one type.
  const Output places = ops::ExpandDims(
      scope, CastTo(scope, slices.indices, slices.dense_shape.dtype()), Int(scope, 1));
  return ops::ScatterNd(scope, places, slices.values, slices.dense_shape);
}

std::vector<Gradient> AddSymbolicGradients(const Scope& scope, absl::Span<const Output> ys,
                                           absl::Span<const Output> xs,
                                           absl::Span<const Gradient> grad_ys,
                                           const GradientOptions& options) {
  std::vector<Gradient> results(xs.size());
  scope.Fail(CheckArguments(ys, xs, grad_ys));
  if (!scope.status().ok()) return results;
  const GradientRegistry& registry =
      options.registry != nullptr ? *options.registry : BuiltinGradients();
  scope.Fail(ExpandCallsBetween(scope, ys, xs, registry));
  if (!scope.status().ok()) return results;
  const std::vector<Output> from = CurrentOf(scope, ys), to = CurrentOf(scope, xs);
  const Scope inner = scope.SubScope(options.name);
  std::vector<Gradient> seeds(grad_ys.begin(), grad_ys.end());
  seeds.resize(ys.size());
  for (size_t i = 0; i < ys.size(); ++i) {
    if (!seeds[i].is_absent()) continue;
    const Scope seed = inner.Named(absl::StrCat("grad_ys_", i));
    seeds[i] = ops::Fill(seed, ShapeTensor(inner, ys[i]), ScalarConst(inner, ys[i].dtype(), 1));
  }
  StatusOr<std::unique_ptr<Loops>> loops = Loops::Find(scope.graph());
  if (!loops.ok()) {
    scope.Fail(loops.status());
    return results;
  }
  for (const std::vector<Output>* outputs : {&from, &to}) {
    for (const Output& output : *outputs) {
      if (const Loop* loop = (*loops)->FrameOfOutput(output.node()); loop != nullptr) {
        scope.Fail(InvalidArgument("'", output.name(), "' is inside the loop '", loop->frame_name,
                                   "'; gradients are between tensors outside of loops"));
        return results;
      }
    }
  }
  DirectValues values(inner);
  results =
      GradientBuilder(inner, options, &values, **loops, /*level=*/nullptr).Run(from, seeds, to);
  return scope.status().ok() ? results : std::vector<Gradient>(xs.size());
}

}  // namespace tensorfleet
