// Which nodes are dead together. A node is alive in a round of its frame when all the branches that
// it stands behind were taken; each set of branches has a number, so that two nodes with the same
// number are always alive or dead together. Different numbers say nothing.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/place/analysis/loop_frames.h"

namespace tensorfleet {

// By node id; -1 for a node of which nothing can be said. Values that a node waits for outside
// the graph (queues, receives) count like branches: what waits for one is kept apart from what does
// not, and so is never delayed by it.
StatusOr<std::vector<int>> DeadnessClasses(const Graph& graph, const LoopFrames& frames);

}  // namespace tensorfleet
