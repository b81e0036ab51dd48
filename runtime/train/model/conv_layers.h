// Layers for images, which are [batch, rows, columns, channels].
#pragma once

#include "runtime/train/model/layers.h"

namespace tensorfleet::train {

struct ConvOptions {
  int64_t stride = 1;
  std::string padding = "SAME";  // or "VALID"
  Activation activation;
  bool use_bias = true;
  Initializer kernel_initializer = HeNormal();
  std::string name = "conv2d";
};
// `filters` filters of kernel x kernel. `x` has rank 4 and a known number of channels.
Output Conv2D(const Scope& scope, Variables& variables, const Output& x, int64_t filters,
              int64_t kernel, const ConvOptions& options = {});

// The largest, or the mean, of each window of size x size; the next window is `stride` away.
Output MaxPool2D(const Scope& scope, const Output& x, int64_t size, int64_t stride,
                 const std::string& padding = "VALID");
Output AveragePool2D(const Scope& scope, const Output& x, int64_t size, int64_t stride,
                     const std::string& padding = "VALID");

struct BatchNormOptions {
  double momentum = 0.99;  // of the moving averages
  double epsilon = 0.001;
  std::string name = "batch_normalization";
};
struct Normalized {
  Output y;
  // Moves the averages; run it with every training step.
  Operation update;
};
// Each channel (the last dimension, which is known) with mean 0 and variance 1, then scaled and
// shifted by trained variables. Where `training` (a scalar bool) holds, by the batch's own mean and
// variance, else by their moving averages, which are saved but not trained.
Normalized BatchNorm(const Scope& scope, Variables& variables, const Output& x,
                     const Output& training, const BatchNormOptions& options = {});

}  // namespace tensorfleet::train
