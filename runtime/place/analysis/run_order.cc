#include "runtime/place/analysis/run_order.h"

#include <utility>

namespace tensorfleet {

RunOrder::RunOrder(const Graph& graph, LoopFrames frames)
    : frames_(std::move(frames)),
      nodes_in_(frames_.frames.size()),
      loops_in_(frames_.frames.size()) {
  for (Node* node : graph.nodes()) nodes_in_[FrameOf(*node)].push_back(node);
  for (size_t i = 1; i < frames_.frames.size(); ++i) {
    loops_in_[frames_.frames[i].parent].push_back(static_cast<int>(i));
  }
}

int RunOrder::LoopInside(int of_node, int frame) const {
  int loop = frame;
  for (int at = of_node; at != frame; at = frames_.frames[at].parent) {
    if (at == kRootFrame) return frame == kEveryIteration ? loop : frame;
    loop = at;
  }
  return loop;
}

bool RunOrder::LeavesIteration(const Node& next_iteration, int frame) const {
  if (frame == kEveryIteration) return false;
  int at = frames_.frame_of[next_iteration.id()];
  if (at == frame) return true;
  while (at != frame && at != kRootFrame) at = frames_.frames[at].parent;
  return at != frame;
}

void RunOrder::SetFrame(Node* node, int frame) {
  if (static_cast<int>(frames_.frame_of.size()) <= node->id()) {
    frames_.frame_of.resize(node->id() + 1, kRootFrame);
  }
  frames_.frame_of[node->id()] = frame;
  nodes_in_[frame].push_back(node);
}

RunOrder::Nodes RunOrder::After(const std::vector<Node*>& from, int frame) {
  Nodes found;
  std::vector<const Node*> todo(from.begin(), from.end());
  absl::flat_hash_set<int> loops;
  std::vector<int> more_loops;
  for (const Node* node : from) {
    const int loop = LoopInside(FrameOf(*node), frame);
    if (loop != frame && loops.insert(loop).second) more_loops.push_back(loop);
  }
  while (!more_loops.empty()) {
    const int loop = more_loops.back();
    more_loops.pop_back();
    for (const Node* node : nodes_in_[loop]) {
      if (found.some.insert(node).second) todo.push_back(node);
    }
    more_loops.insert(more_loops.end(), loops_in_[loop].begin(), loops_in_[loop].end());
  }
  while (!todo.empty()) {
    const Node* const node = todo.back();
    todo.pop_back();
    if (node->IsNextIteration() && LeavesIteration(*node, frame)) continue;
    edges_left_ -= static_cast<int64_t>(node->out_edges().size());
    if (edges_left_ < 0) {
      found.all = true;
      return found;
    }
    for (const Edge* edge : node->out_edges()) {
      if (found.some.insert(edge->dst).second) todo.push_back(edge->dst);
    }
  }
  return found;
}

absl::flat_hash_set<const Node*> RunOrder::Before(const Node& node, int frame) {
  absl::flat_hash_set<const Node*> found;
  std::vector<const Node*> todo = {&node};
  while (!todo.empty()) {
    const Node* const at = todo.back();
    todo.pop_back();
    edges_left_ -= static_cast<int64_t>(at->in_edges().size());
    if (edges_left_ < 0) return {};
    for (const Edge* edge : at->in_edges()) {
      if (edge->src->IsNextIteration() && LeavesIteration(*edge->src, frame)) continue;
      if (found.insert(edge->src).second) todo.push_back(edge->src);
    }
  }
  return found;
}

}  // namespace tensorfleet
