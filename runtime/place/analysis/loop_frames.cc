#include "runtime/place/analysis/loop_frames.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/graph/attr.h"

namespace tensorfleet {
namespace {

class FrameFinder {
 public:
  explicit FrameFinder(const Graph& graph) : graph_(graph) {
    result_.frames.emplace_back();
    result_.frame_of.assign(graph.num_node_ids(), kRootFrame);
  }

  StatusOr<LoopFrames> Run() {
    const std::vector<Node*> nodes = graph_.nodes();
    if (std::none_of(nodes.begin(), nodes.end(), [](const Node* n) { return n->IsEnter(); })) {
      for (const Node* node : nodes) {
        if (node->IsExit()) TFLEET_RETURN_IF_ERROR(ExitFromRoot(*node));
      }
      return std::move(result_);
    }
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph_));
    for (Node* node : order) TFLEET_RETURN_IF_ERROR(Visit(node));
    return std::move(result_);
  }

 private:
  Status ExitFromRoot(const Node& node) const {
    return InvalidArgument("{{node ", node.name(), "}} leaves a loop that it is not in");
  }

  Status Visit(Node* node) {
    int frame = kRootFrame;
    const Node* witness = nullptr;
    for (const Edge* edge : node->in_edges()) {
      if (edge->src->IsNextIteration()) continue;
      const int from = result_.OutputFrame(*edge->src);
      if (witness == nullptr) {
        witness = edge->src;
        frame = from;
      } else if (from != frame) {
        return InvalidArgument(
            "{{node ", node->name(), "}} has inputs from different frames. The input {{node ",
            witness->name(), "}} is in frame '", result_.frames[frame].name, "'. The input {{node ",
            edge->src->name(), "}} is in frame '", result_.frames[from].name, "'.");
      }
    }
    if (node->IsEnter()) {
      TFLEET_ASSIGN_OR_RETURN(frame, Child(frame, node));
    } else if (node->IsExit() && frame == kRootFrame) {
      return ExitFromRoot(*node);
    } else if (node->IsLoopCond() && frame != kRootFrame) {
      LoopFrame& loop = result_.frames[frame];
      if (loop.loop_cond != nullptr) {
        return InvalidArgument("Loop \"", loop.name, "\" has more than one LoopCond node: {{node ",
                               node->name(), "}} and {{node ", loop.loop_cond->name(), "}}");
      }
      loop.loop_cond = node;
    }
    result_.frame_of[node->id()] = frame;
    return OkStatus();
  }

  StatusOr<int> Child(int parent, Node* enter) {
    TFLEET_ASSIGN_OR_RETURN(const std::string name,
                            GetAttr<std::string>(enter->def(), "frame_name"));
    const auto [it, added] =
        children_.try_emplace({parent, name}, static_cast<int>(result_.frames.size()));
    if (added) {
      LoopFrame frame;
      frame.name = name;
      frame.parent = parent;
      result_.frames.push_back(std::move(frame));
    }
    result_.frames[it->second].enters.push_back(enter);
    return it->second;
  }

  const Graph& graph_;
  LoopFrames result_;
  absl::flat_hash_map<std::pair<int, std::string>, int> children_;
};

}  // namespace

StatusOr<LoopFrames> FindLoopFrames(const Graph& graph) { return FrameFinder(graph).Run(); }

}  // namespace tensorfleet
