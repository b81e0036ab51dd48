#include "runtime/train/optimizer/schedules.h"

#include <cmath>

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet::train {
namespace {

Term AsFloat(const Scope& scope, const Output& step) {
  return {scope, CastTo(scope, step, DType::kFloat)};
}

bool IsPositive(const Scope& scope, const char* schedule, double decay_steps) {
  if (decay_steps > 0) return true;
  scope.Fail(InvalidArgument("decay_steps of ", schedule, " must be above 0; it is ", decay_steps));
  return false;
}

}  // namespace

Output ExponentialDecay(const Scope& scope, const Output& step, double rate, double decay_steps,
                        double decay, bool staircase) {
  if (!IsPositive(scope, "ExponentialDecay", decay_steps)) return Output();
  const Scope at = scope.SubScope("ExponentialDecay");
  Term progress = AsFloat(at, step) / decay_steps;
  if (staircase) progress = Of(ops::Floor, progress);
  return Of(ops::Pow, progress.Number(decay), progress) * rate;
}

Output PiecewiseConstant(const Scope& scope, const Output& step,
                         absl::Span<const int64_t> boundaries, absl::Span<const double> values) {
  if (values.size() != boundaries.size() + 1) {
    scope.Fail(
        InvalidArgument("PiecewiseConstant takes one value more than boundaries; it was "
                        "given ",
                        values.size(), " and ", boundaries.size()));
    return Output();
  }
  const Scope at = scope.SubScope("PiecewiseConstant");
  const Output now = CastTo(at, step, DType::kInt64);
  // Which value: as many boundaries as were passed.
  const Output passed = ops::Greater(at, now, IntsOf(at, DType::kInt64, boundaries));
  const Output which = SumOf({at, ops::Cast(at, passed, DType::kInt32)}, {0});
  const std::vector<float> rates(values.begin(), values.end());
  return ops::Gather(at, Const(at, Tensor::Vector<float>(rates)), which);
}

Output PolynomialDecay(const Scope& scope, const Output& step, double rate, double decay_steps,
                       double end_rate, double power, bool cycle) {
  if (!IsPositive(scope, "PolynomialDecay", decay_steps)) return Output();
  const Scope at = scope.SubScope("PolynomialDecay");
  const Term now = AsFloat(at, step);
  Term length = now.Number(decay_steps);
  Term reached = now;
  if (cycle) {
    const Term rounds = Of(ops::Ceil, now / decay_steps);
    length = length * Of(ops::Maximum, rounds, rounds.Number(1));
  } else {
    reached = Of(ops::Minimum, now, length);
  }
  const Term left = 1.0 - reached / length;
  return Of(ops::Pow, left, left.Number(power)) * (rate - end_rate) + end_rate;
}

Output CosineDecay(const Scope& scope, const Output& step, double rate, double decay_steps,
                   double alpha) {
  if (!IsPositive(scope, "CosineDecay", decay_steps)) return Output();
  const Scope at = scope.SubScope("CosineDecay");
  const Term now = AsFloat(at, step);
  const Term progress = Of(ops::Minimum, now, now.Number(decay_steps)) / decay_steps;
  const Term wave = 0.5 * (1.0 + Of(ops::Cos, progress * M_PI));
  return ((1 - alpha) * wave + alpha) * rate;
}

}  // namespace tensorfleet::train
