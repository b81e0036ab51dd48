// Layers for sequences, which are [batch, time, features].
#pragma once

#include "runtime/train/model/layers.h"

namespace tensorfleet::train {

struct LstmOptions {
  double forget_bias = 1;  // so that a fresh cell remembers
  Initializer kernel_initializer = GlorotUniform();
  std::string name = "lstm";
};
struct LstmOutputs {
  Output sequence;  // [batch, time, units]: what the cell said at each time
  Output last;      // [batch, units]: what it said last
};
// A long short-term memory over a sequence whose length and number of features are known, unrolled.
// The kernel holds the gates in TensorFlow's order: input, new value, forget, output.
LstmOutputs Lstm(const Scope& scope, Variables& variables, const Output& x, int64_t units,
                 const LstmOptions& options = {});

}  // namespace tensorfleet::train
