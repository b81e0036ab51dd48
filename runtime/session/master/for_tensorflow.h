// What a piece of a graph needs before a TensorFlow worker runs it. TensorFlow's masters replace
// some nodes before they hand out a graph, and its workers have no kernels for those.
#pragma once

#include "proto/graph.pb.h"

namespace tensorfleet {

// Replaces each ParallelConcat by _ParallelConcatStart and a _ParallelConcatUpdate for each row,
// the last of which has its name. Nodes in functions stay, as in TensorFlow.
void PrepareForTensorFlow(tensorflow::GraphDef* piece);

}  // namespace tensorfleet
