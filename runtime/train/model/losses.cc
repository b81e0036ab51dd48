#include "runtime/train/model/losses.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet::train {

Output MeanOfAll(const Scope& scope, const Output& values) {
  const PartialShape shape = scope.ShapeOf(values);
  Output axes;
  if (shape.has_rank()) {
    std::vector<int64_t> all(shape.rank());
    for (int i = 0; i < shape.rank(); ++i) all[i] = i;
    axes = Ints(scope, all);
  } else {
    axes = RangeTo(scope, ops::Rank(scope, values));
  }
  return ops::Mean(scope, values, axes);
}

Output SparseSoftmaxCrossEntropy(const Scope& scope, const Output& labels, const Output& logits) {
  const Scope at = scope.SubScope("sparse_softmax_cross_entropy_loss");
  return MeanOfAll(at, ops::SparseSoftmaxCrossEntropyWithLogits(at, logits, labels).loss);
}

Output SoftmaxCrossEntropy(const Scope& scope, const Output& labels, const Output& logits) {
  const Scope at = scope.SubScope("softmax_cross_entropy_loss");
  return MeanOfAll(at, ops::SoftmaxCrossEntropyWithLogits(at, logits, labels).loss);
}

Output SigmoidCrossEntropy(const Scope& scope, const Output& labels, const Output& logits) {
  const Scope at = scope.SubScope("sigmoid_cross_entropy_loss");
  const Term x(at, logits), z(at, labels);
  // max(x, 0) - x z + log(1 + exp(-|x|)): nothing overflows, whatever the sign of x.
  return MeanOfAll(at, Of(ops::Relu, x) - x * z + Of(ops::Log1p, Of(ops::Exp, -Of(ops::Abs, x))));
}

Output MeanSquaredError(const Scope& scope, const Output& labels, const Output& predictions) {
  const Scope at = scope.SubScope("mean_squared_error");
  return MeanOfAll(at, ops::SquaredDifference(at, predictions, labels));
}

Output AbsoluteDifference(const Scope& scope, const Output& labels, const Output& predictions) {
  const Scope at = scope.SubScope("absolute_difference");
  return MeanOfAll(at, ops::Abs(at, ops::Sub(at, predictions, labels)));
}

Output HuberLoss(const Scope& scope, const Output& labels, const Output& predictions,
                 double delta) {
  const Scope at = scope.SubScope("huber_loss");
  const Term error = Of(ops::Abs, Term(at, predictions) - Term(at, labels));
  const Term quadratic = Of(ops::Minimum, error, error.Number(delta));
  return MeanOfAll(at, 0.5 * quadratic * quadratic + delta * (error - quadratic));
}

Output HingeLoss(const Scope& scope, const Output& labels, const Output& logits) {
  const Scope at = scope.SubScope("hinge_loss");
  const Term sign = 2.0 * Term(at, labels) - 1.0;
  return MeanOfAll(at, Of(ops::Relu, 1.0 - sign * Term(at, logits)));
}

Output L2Penalty(const Scope& scope, absl::Span<const Variable> variables, double scale) {
  const Scope at = scope.SubScope("l2_penalty");
  if (variables.empty()) {
    scope.Fail(InvalidArgument("L2Penalty was given no variable"));
    return Output();
  }
  std::vector<Output> halves;
  for (const Variable& variable : variables) halves.push_back(ops::L2Loss(at, variable.value));
  return Term(at, ops::AddN(at, halves)) * scale;
}

}  // namespace tensorfleet::train
