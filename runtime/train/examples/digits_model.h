// A perceptron with one hidden layer that reads digits.
#pragma once

#include "proto/meta_graph.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet::train {

// Feeds "images:0" (uint8, [n, 64]) and "labels:0" (int64, [n]), and "noise:0" as 0 where it does
// not train; gives "loss:0" and "batch_accuracy:0". Trained by momentum on the mean cross entropy.
StatusOr<tensorflow::MetaGraphDef> DigitsModel(float learning_rate);

}  // namespace tensorfleet::train
