// Which nodes run before or after which others within one step, loops included.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "runtime/graph/graph.h"
#include "runtime/place/analysis/loop_frames.h"

namespace tensorfleet {

class RunOrder {
 public:
  // A set of nodes; `all` when finding them would have taken too long.
  struct Nodes {
    absl::flat_hash_set<const Node*> some;
    bool all = false;
    bool contains(const Node* node) const { return all || some.contains(node); }
  };
  // As `frame`: follow the back edges of every loop.
  static constexpr int kEveryIteration = -1;

  // `graph` may get new nodes later if SetFrame tells their frames.
  RunOrder(const Graph& graph, LoopFrames frames);

  // What may run after a node of `from` within one iteration of `frame`: where a path leads, back
  // edges of loops inside `frame` included and its own excluded; and, for a node in such a loop,
  // the whole loop, whose next iteration may wait for this one without a path
  // (parallel_iterations).
  Nodes After(const std::vector<Node*>& from, int frame);
  // From where a path leads to `node` within one iteration of `frame`. Nothing when finding it
  // would have taken too long.
  absl::flat_hash_set<const Node*> Before(const Node& node, int frame);

  // The frame in whose iterations the node runs.
  int FrameOf(const Node& node) const { return frames_.InputFrame(node); }
  void SetFrame(Node* node, int frame);
  // Whether a NextIteration leads to another iteration of `frame`, or of a loop around it.
  bool LeavesIteration(const Node& next_iteration, int frame) const;

 private:
  // The outermost loop around the node inside `frame`; `frame` when there is none.
  int LoopInside(int of_node, int frame) const;

  LoopFrames frames_;
  std::vector<std::vector<const Node*>> nodes_in_;  // by frame
  std::vector<std::vector<int>> loops_in_;          // by frame
  int64_t edges_left_ = 50'000'000;  // over all calls, so that a graph compiles in linear time
};

}  // namespace tensorfleet
