#include "runtime/train/model/metrics.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"
#include "runtime/train/model/losses.h"

namespace tensorfleet::train {
namespace {

Output Hits(const Scope& scope, const Output& labels, const Output& logits) {
  const Output best = ops::ArgMax(scope, logits, Int(scope, 1), {.output_type = labels.dtype()});
  return ops::Cast(scope, ops::Equal(scope, best, labels), DType::kFloat);
}

// The sum by value, 0 where nothing was counted.
Output Ratio(const Scope& scope, const Output& total, const Output& count) {
  return ops::DivNoNan(scope, total, count);
}

StreamingMetric MeanOf(const Scope& scope, Variables& variables, const Output& values) {
  const VariableOptions local = {.trainable = false, .local = true};
  const Variable total = variables.Make(scope.Named("total"), Shape(), Zeros(), local);
  const Variable count = variables.Make(scope.Named("count"), Shape(), Zeros(), local);
  if (!count.is_valid()) return {};
  const Output floats = CastTo(scope, values, DType::kFloat);
  const Output all = RangeTo(scope, ops::Rank(scope, floats));
  const Output number = ops::Cast(scope, ops::Size(scope, floats), DType::kFloat);
  const Scope after = scope.After(
      {AssignAdd(scope, total, ops::Sum(scope, floats, all)), AssignAdd(scope, count, number)});
  return {Ratio(scope.Named("value"), total.value, count.value),
          Ratio(scope.Named("update_op"), Read(after, total), Read(after, count))};
}

}  // namespace

Output Accuracy(const Scope& scope, const Output& labels, const Output& logits) {
  const Scope at = scope.SubScope("accuracy");
  return MeanOfAll(at, Hits(at, labels, logits));
}

Output TopKAccuracy(const Scope& scope, const Output& labels, const Output& logits, int64_t k) {
  const Scope at = scope.SubScope("top_k_accuracy");
  const Output hits = ops::InTopK(at, logits, labels, k);
  return MeanOfAll(at, ops::Cast(at, hits, DType::kFloat));
}

StreamingMetric StreamingMean(const Scope& scope, Variables& variables, const Output& values) {
  return MeanOf(scope.SubScope("mean"), variables, values);
}

StreamingMetric StreamingAccuracy(const Scope& scope, Variables& variables, const Output& labels,
                                  const Output& logits) {
  const Scope at = scope.SubScope("accuracy");
  return MeanOf(at, variables, Hits(at, labels, logits));
}

}  // namespace tensorfleet::train
