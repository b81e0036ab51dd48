// Losses: how far predictions are from labels, as one number, the mean over the batch.
#pragma once

#include "runtime/client/scope.h"
#include "runtime/train/model/variables.h"

namespace tensorfleet::train {

// Of logits [batch, classes]: with one true class per row, and with a distribution per row.
Output SparseSoftmaxCrossEntropy(const Scope& scope, const Output& labels, const Output& logits);
Output SoftmaxCrossEntropy(const Scope& scope, const Output& labels, const Output& logits);
// Of logits and labels in [0, 1], element by element.
Output SigmoidCrossEntropy(const Scope& scope, const Output& labels, const Output& logits);
Output MeanSquaredError(const Scope& scope, const Output& labels, const Output& predictions);
Output AbsoluteDifference(const Scope& scope, const Output& labels, const Output& predictions);
// Quadratic up to `delta`, linear beyond.
Output HuberLoss(const Scope& scope, const Output& labels, const Output& predictions,
                 double delta = 1);
// max(0, 1 - logits * (2 * labels - 1)), for labels 0 and 1.
Output HingeLoss(const Scope& scope, const Output& labels, const Output& logits);

// scale * (half the sum of squares of each variable): added to a loss, it keeps weights small.
Output L2Penalty(const Scope& scope, absl::Span<const Variable> variables, double scale);

// The mean over all elements, as a scalar.
Output MeanOfAll(const Scope& scope, const Output& values);

}  // namespace tensorfleet::train
