#include "runtime/execute/frame_layout.h"

#include <map>
#include <string>
#include <utility>

#include "runtime/execute/frame_id.h"
#include "runtime/graph/attr.h"

namespace tensorfleet::execute {
namespace {

// Deeper ones are no program's: what is done for frames may call itself for the frames inside.
constexpr int kMaxFrameDepth = 256;

class FrameFinder {
 public:
  explicit FrameFinder(const Graph& graph) : graph_(graph) {
    result_.frames.emplace_back();
    result_.frame_of.assign(graph.num_node_ids(), -1);
    result_.child_of.assign(graph.num_node_ids(), -1);
    came_from_.assign(graph.num_node_ids(), nullptr);
  }

  StatusOr<FrameAssignment> Run() {
    for (Node* node : graph_.nodes()) {
      if (node->in_edges().empty()) Assign(node, 0, nullptr);
    }
    while (!work_.empty()) {
      Node* node = work_.back();
      work_.pop_back();
      TFLEET_ASSIGN_OR_RETURN(const int32_t frame, FrameOfOutputs(*node));
      for (const Edge* edge : node->out_edges()) {
        const int32_t known = result_.frame_of[edge->dst->id()];
        if (known < 0) {
          Assign(edge->dst, frame, node);
        } else if (known != frame) {
          return DifferentFrames(*edge->dst, *node, frame, known);
        }
      }
    }
    for (Node* node : graph_.nodes()) {
      if (result_.frame_of[node->id()] < 0) {
        return InvalidArgument("{{node ", node->name(),
                               "}} can never run: its inputs depend on its own outputs");
      }
    }
    return std::move(result_);
  }

 private:
  void Assign(Node* node, int32_t frame, const Node* from) {
    result_.frame_of[node->id()] = frame;
    came_from_[node->id()] = from;
    work_.push_back(node);
  }

  StatusOr<int32_t> FrameOfOutputs(const Node& node) {
    const int32_t frame = result_.frame_of[node.id()];
    if (node.IsEnter()) {
      TFLEET_ASSIGN_OR_RETURN(const int32_t child, ChildFrame(node, frame));
      return result_.child_of[node.id()] = child;
    }
    if (node.IsExit()) {
      if (frame == 0) {
        return InvalidArgument("{{node ", node.name(), "}} is an Exit outside of any loop frame");
      }
      return result_.frames[frame].parent;
    }
    if (node.IsNextIteration() && frame == 0) {
      return InvalidArgument("{{node ", node.name(),
                             "}} is a NextIteration outside of any loop frame");
    }
    return frame;
  }

  StatusOr<int32_t> ChildFrame(const Node& enter, int32_t parent) {
    TFLEET_ASSIGN_OR_RETURN(const std::string name,
                            GetAttr<std::string>(enter.def(), "frame_name"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t parallel,
                            GetAttrOr<int64_t>(enter.def(), "parallel_iterations", 10));
    if (parallel < 1 || parallel > (1 << 30)) {
      return InvalidArgument("{{node ", enter.name(),
                             "}}: parallel_iterations must be between 1 and 2^30, not ", parallel);
    }
    auto [it, is_new] = by_name_.try_emplace({parent, name}, result_.frames.size());
    if (is_new) {
      depth_.push_back(depth_[parent] + 1);
      if (depth_.back() > kMaxFrameDepth) {
        return ResourceExhausted("{{node ", enter.name(), "}}: frame '", name,
                                 "' is nested in more than ", kMaxFrameDepth, " others");
      }
      FrameLayout frame;
      frame.name = name;
      frame.name_hash = FrameNameHash(name);
      frame.parent = parent;
      frame.index_in_parent = result_.frames[parent].num_children++;
      frame.parallel_iterations = static_cast<int32_t>(parallel);
      result_.frames.push_back(std::move(frame));
    }
    FrameLayout& frame = result_.frames[it->second];
    if (frame.parallel_iterations != parallel) {
      return InvalidArgument("{{node ", enter.name(), "}}: parallel_iterations is ", parallel,
                             ", but other Enter nodes of frame '", name, "' have ",
                             frame.parallel_iterations);
    }
    ++frame.num_enters;
    return it->second;
  }

  Status DifferentFrames(const Node& node, const Node& input, int32_t frame, int32_t known) const {
    const Node* other = came_from_[node.id()];
    return InvalidArgument("The node '{{node ", node.name(),
                           "}}' has inputs from different frames. The input '{{node ",
                           other == nullptr ? node.name() : other->name(), "}}' is in frame '",
                           result_.frames[known].name, "'. The input '{{node ", input.name(),
                           "}}' is in frame '", result_.frames[frame].name, "'.");
  }

  const Graph& graph_;
  FrameAssignment result_;
  std::vector<int> depth_ = {0};  // of each frame
  std::map<std::pair<int32_t, std::string>, int32_t> by_name_;
  std::vector<const Node*> came_from_;
  std::vector<Node*> work_;
};

}  // namespace

StatusOr<FrameAssignment> AssignFrames(const Graph& graph) { return FrameFinder(graph).Run(); }

}  // namespace tensorfleet::execute
