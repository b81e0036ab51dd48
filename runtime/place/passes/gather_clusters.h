// The last pass: gathers what can be compiled together into clusters. Nodes on one accelerator that
// have a lowering, are in one loop frame, and are dead together become one node of kClusterOp, in
// the largest connected groups that leave no cycle through other nodes, devices or tasks; it runs
// when all inputs are there, and then counts as one launch. Groups of nothing but reads, reshapes
// and the like are left alone.
#pragma once

#include "runtime/place/rewrite.h"

namespace tensorfleet {

// Errors: those of changing a graph. Devices that run no clusters are left alone.
Status GatherClusters(Graph* graph, const RewriteContext& context);

}  // namespace tensorfleet
