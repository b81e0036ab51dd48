// Learning rates that change with the step. Formulas are tf.compat.v1.train's. Each gives a float
// scalar that is worked out in every step from `step`, an integer or floating scalar (usually the
// global step's value).
#pragma once

#include "runtime/client/scope.h"

namespace tensorfleet::train {

// rate * decay^(step / decay_steps); with `staircase` the exponent is rounded down.
Output ExponentialDecay(const Scope& scope, const Output& step, double rate, double decay_steps,
                        double decay, bool staircase = false);

// values[0] up to and including boundaries[0], values[1] up to boundaries[1], and so on; one value
// more than boundaries, which ascend.
Output PiecewiseConstant(const Scope& scope, const Output& step,
                         absl::Span<const int64_t> boundaries, absl::Span<const double> values);

// From `rate` to `end_rate` in `decay_steps`, by (1 - progress)^power; stays there, or with `cycle`
// begins again with a longer way.
Output PolynomialDecay(const Scope& scope, const Output& step, double rate, double decay_steps,
                       double end_rate = 0.0001, double power = 1, bool cycle = false);

// Half a cosine wave from `rate` down to alpha * rate in `decay_steps`, and there it stays.
Output CosineDecay(const Scope& scope, const Output& step, double rate, double decay_steps,
                   double alpha = 0);

}  // namespace tensorfleet::train
