// Layers: functions from tensors to tensors that make the variables they need. Names are
// tf.compat.v1.layers': "dense/kernel", "dense/bias".
//
//   Output h = Dense(scope, variables, x, 128, {.activation = ops::Relu});
//   Output logits = Dense(scope, variables, h, 10);
#pragma once

#include <functional>

#include "runtime/train/model/variables.h"

namespace tensorfleet::train {

using Activation = std::function<Output(const Scope& scope, const Output& x)>;

struct DenseOptions {
  Activation activation;  // none: linear
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name = "dense";
};
// x times a kernel of `units` columns, plus a bias. `x` has rank 2 and more, and a known last
// dimension; the others are kept.
Output Dense(const Scope& scope, Variables& variables, const Output& x, int64_t units,
             const DenseOptions& options = {});

// All dimensions but the first in one.
Output Flatten(const Scope& scope, const Output& x);

// While training, elements are set to 0 with probability `rate`, the others scaled up so that sums
// stay as they are on average. `training` is a scalar bool.
Output Dropout(const Scope& scope, const Output& x, double rate, const Output& training,
               int64_t seed = 0);

struct EmbeddingOptions {
  // The table in as many parts, each placed on its own: row i is in part i mod parts.
  int parts = 1;
  Initializer initializer = RandomUniform(-0.05, 0.05);
  DType dtype = DType::kFloat;
  std::string name = "embedding";
};
// Rows of a table by integer ids of any shape. Its gradient touches only the rows that were read.
Output Embedding(const Scope& scope, Variables& variables, const Output& ids, int64_t rows,
                 int64_t columns, const EmbeddingOptions& options = {});

}  // namespace tensorfleet::train
