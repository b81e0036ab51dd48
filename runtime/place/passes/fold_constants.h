// Computes before the first step what is the same in every step.
#pragma once

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"
#include "runtime/place/rewrite.h"

namespace tensorfleet {

// Replaces stateless nodes whose inputs are all constant by constants of the same name, device and
// control inputs; likewise what asks for shapes (Shape, ShapeN, Size, Rank) that can be inferred,
// whose constant then waits for the tensor. What cannot be computed (an error, an unknown or too
// large result) is left for the step.
Status FoldConstants(Graph* graph, const RewriteContext& context);

}  // namespace tensorfleet
