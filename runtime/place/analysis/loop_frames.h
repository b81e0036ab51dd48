// Which loop each node belongs to. A loop is a frame, entered through Enter nodes of one frame_name
// and left through Exit nodes; frames nest.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

inline constexpr int kRootFrame = 0;

struct LoopFrame {
  std::string name;  // frame_name of its Enter nodes; empty for the root
  int parent = -1;   // index; -1 for the root
  std::vector<Node*> enters;
  Node* loop_cond = nullptr;
};

struct LoopFrames {
  std::vector<LoopFrame> frames;  // [kRootFrame] is what lies outside all loops
  std::vector<int> frame_of;      // by node id. Enter and Exit nodes belong to the loop.

  bool has_loops() const { return frames.size() > 1; }
  // The frame in which a node's inputs arrive, and the one in which its outputs are.
  int InputFrame(const Node& node) const {
    const int frame = frame_of[node.id()];
    return node.IsEnter() ? frames[frame].parent : frame;
  }
  int OutputFrame(const Node& node) const {
    const int frame = frame_of[node.id()];
    return node.IsExit() ? frames[frame].parent : frame;
  }
};

// Errors: InvalidArgument for nodes with inputs from different frames, an Exit outside of any loop,
// a frame with two LoopConds, and what TopologicalOrder says.
StatusOr<LoopFrames> FindLoopFrames(const Graph& graph);

}  // namespace tensorfleet
