// Metrics. The plain ones are of one batch; a streaming one is kept over many batches in local
// variables.
#pragma once

#include "runtime/train/model/variables.h"

namespace tensorfleet::train {

// The share of rows whose largest logit is that of the label: a float scalar. `labels` are int32 or
// int64 of shape [batch].
Output Accuracy(const Scope& scope, const Output& labels, const Output& logits);
// The share of rows whose label is among the `k` largest logits.
Output TopKAccuracy(const Scope& scope, const Output& labels, const Output& logits, int64_t k);

// The mean of everything that `update` has seen since the local variables were initialized; 0
// before.
struct StreamingMetric {
  Output value;
  Output update;  // runs one batch's update, and gives the value after it
};
StreamingMetric StreamingMean(const Scope& scope, Variables& variables, const Output& values);
StreamingMetric StreamingAccuracy(const Scope& scope, Variables& variables, const Output& labels,
                                  const Output& logits);

}  // namespace tensorfleet::train
