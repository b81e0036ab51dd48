// In-graph replication: one graph and one client; the variables exist once, on the parameter
// servers, and each worker task has its own copy of the computation, a tower. A step runs all
// towers at once and applies the average of their gradients: the same as one step over all their
// input.
//
//   const std::vector<Output> images = SplitBatch(root, batch, 2);
//   const Replicas both = MinimizeInGraph(root, {"/job:worker/task:0", "/job:worker/task:1"},
//       [&](const Scope& scope, int i) { return Loss(scope, images[i], w, b); }, adam, variables);
//   session->Run(root, feeds, {both.loss}, {both.train});
//
// Between-graph replication, where each worker is a client of its own, is what RunTrainTask does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/train/optimizer/optimizer.h"

namespace tensorfleet::train {

// Builds tower `i` in `scope`, which is on its device, and returns its loss, a mean over its input.
// Variables are made before; a tower only reads them.
using Tower = std::function<Output(const Scope& scope, int i)>;

struct Replicas {
  Operation train;
  Output loss;  // the mean of the towers'
};

// Errors, kept in the scope: InvalidArgument without devices, or when a tower makes a variable.
Replicas MinimizeInGraph(const Scope& scope, absl::Span<const std::string> devices,
                         const Tower& tower, Optimizer& optimizer, Variables& variables);

// Equal parts of a batch, along its first dimension, which `parts` must divide.
std::vector<Output> SplitBatch(const Scope& scope, const Output& batch, int parts);

// The averages of gradients for the same variables in the same order: each is worked out where its
// variable is. Rows stay rows. What a tower has no gradient for counts as zeros.
std::vector<GradientAndVariable> AverageGradients(
    const Scope& scope, absl::Span<const std::vector<GradientAndVariable>> towers);

}  // namespace tensorfleet::train
