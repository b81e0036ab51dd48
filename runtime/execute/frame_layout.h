// Which loop frame each node of a graph runs in.
#pragma once

#include <vector>

#include "runtime/base/status.h"
#include "runtime/execute/compiled_graph.h"
#include "runtime/graph/graph.h"

namespace tensorfleet::execute {

struct FrameAssignment {
  // Names, hashes, parents and limits only; slots, states and exits are filled by the compiler.
  std::vector<FrameLayout> frames;
  // By node id. An Enter runs in the frame outside its loop, an Exit in the frame of the loop.
  std::vector<int32_t> frame_of;
  std::vector<int32_t> child_of;  // of an Enter, by node id: the frame it leads to; else -1
};

// Errors: InvalidArgument for a node whose inputs come from different frames, an Exit outside
// loops, nodes that wait for each other for ever, or a bad parallel_iterations.
StatusOr<FrameAssignment> AssignFrames(const Graph& graph);

}  // namespace tensorfleet::execute
