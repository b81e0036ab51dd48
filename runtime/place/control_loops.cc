#include "runtime/place/control_loops.h"

#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/graph/attr.h"
#include "runtime/place/analysis/loop_frames.h"
#include "runtime/place/graph_edit.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {
namespace {

class ControlLoopBuilder {
 public:
  ControlLoopBuilder(const std::function<bool(const Edge&)>& crosses,
                     const std::function<std::string(absl::string_view)>& new_name, Graph* graph)
      : crosses_(crosses), new_name_(new_name), graph_(graph) {}

  StatusOr<ReceiveAnchors> Run() {
    TFLEET_ASSIGN_OR_RETURN(frames_, FindLoopFrames(*graph_));
    if (!frames_.has_loops()) return ReceiveAnchors();
    for (Node* node : graph_->nodes()) {
      if (node->IsSwitch() && frames_.frame_of[node->id()] == kRootFrame) root_branches_ = true;
      if (IsLoopMerge(*node)) {
        anchors_.try_emplace({frames_.frame_of[node->id()], node->assigned_device()}, node);
      }
      for (const Edge* edge : node->in_edges()) open_.push_back(edge);
    }
    while (!open_.empty()) {
      const Edge* edge = open_.front();
      open_.pop_front();
      TFLEET_RETURN_IF_ERROR(Visit(*edge));
    }
    return std::move(by_edge_);
  }

 private:
  static bool IsLoopMerge(const Node& node) {
    if (!node.IsMerge()) return false;
    for (const Edge* edge : node.in_edges()) {
      if (edge->src->IsNextIteration()) return true;
    }
    return false;
  }

  Status Visit(const Edge& edge) {
    if (!crosses_(edge)) return OkStatus();
    const int frame = frames_.InputFrame(*edge.dst);
    if (frame == kRootFrame) return OkStatus();
    if (edge.src->IsNextIteration()) {
      return InvalidArgument("{{node ", edge.src->name(), "}} on ", edge.src->assigned_device(),
                             " and {{node ", edge.dst->name(), "}} on ",
                             edge.dst->assigned_device(),
                             " close a loop and must be on one device");
    }
    auto it = anchors_.find({frame, edge.dst->assigned_device()});
    if (it == anchors_.end()) {
      TFLEET_ASSIGN_OR_RETURN(Node * merge, AddLoop(frame, *edge.dst));
      it = anchors_.find({frame, edge.dst->assigned_device()});
      it->second = merge;
    }
    by_edge_[edge.id] = it->second;
    return OkStatus();
  }

  StatusOr<Node*> AddLoop(int frame, const Node& near) {
    // Copied: adding nodes may let the vector of frames' users move.
    const LoopFrame loop = frames_.frames[frame];
    if (loop.loop_cond == nullptr) {
      return InvalidArgument("A cross-device loop must have a pivot predicate: loop \"", loop.name,
                             "\" has no LoopCond");
    }
    const std::string& device = near.assigned_device();
    const std::string prefix = absl::StrCat("_cloop", near.name());
    const Node* user_enter = PickEnter(loop);
    TFLEET_ASSIGN_OR_RETURN(const int64_t parallel,
                            GetAttrOr<int64_t>(user_enter->def(), "parallel_iterations", 10));

    tensorflow::NodeDef def = NewNodeDef(new_name_(prefix), "Enter", device);
    SetAttr(&def, "frame_name", loop.name);
    SetAttr(&def, "is_constant", false);
    SetAttr(&def, "parallel_iterations", parallel);
    TFLEET_ASSIGN_OR_RETURN(Node * enter, Add(std::move(def), frame));
    def = NewNodeDef(new_name_(prefix), "Merge", device);
    SetAttr(&def, "N", 2);
    TFLEET_ASSIGN_OR_RETURN(Node * merge, Add(std::move(def), frame));
    // Known from here on: what follows may need it.
    anchors_[{frame, device}] = merge;
    TFLEET_ASSIGN_OR_RETURN(Node * control_switch,
                            Add(NewNodeDef(new_name_(prefix), "Switch", device), frame));
    TFLEET_ASSIGN_OR_RETURN(Node * next,
                            Add(NewNodeDef(new_name_(prefix), "NextIteration", device), frame));
    TFLEET_RETURN_IF_ERROR(Connect(enter, 0, merge, 0));
    TFLEET_RETURN_IF_ERROR(Connect(next, 0, merge, 1));
    TFLEET_RETURN_IF_ERROR(Connect(merge, 0, control_switch, 0));
    TFLEET_RETURN_IF_ERROR(Connect(loop.loop_cond, 0, control_switch, 1));
    TFLEET_RETURN_IF_ERROR(Connect(control_switch, 1, next, 0));
    TFLEET_ASSIGN_OR_RETURN(Node * start, AddStart(loop, *user_enter, near));
    TFLEET_RETURN_IF_ERROR(Connect(start, 0, enter, 0));
    return merge;
  }

  // A value that carries data rather than a reference, so that it can be watched.
  static const Node* PickEnter(const LoopFrame& loop) {
    for (const Node* enter : loop.enters) {
      if (!IsRef(enter->input_type(0)) && enter->in_edge(0) != nullptr) return enter;
    }
    return loop.enters.front();
  }

  // The empty tensor that enters the control loop. The control loop must be entered exactly when
  // the loop is: it would otherwise wait forever for a condition that nobody computes. Where the
  // loop may be skipped (it stands in a branch or in another loop, whose last iteration skips it),
  // the tensor comes from beside the loop's own Enter.
  StatusOr<Node*> AddStart(const LoopFrame& loop, const Node& user_enter, const Node& near) {
    const Endpoint watched = InputOf(user_enter, 0);
    const bool may_be_skipped = loop.parent != kRootFrame || root_branches_;
    if (!may_be_skipped || watched.node == nullptr || IsRef(user_enter.input_type(0))) {
      return AddEmptyConst(new_name_(near.name()), near.assigned_device(), loop.parent);
    }
    const std::string& device = user_enter.assigned_device();
    tensorflow::NodeDef def = NewNodeDef(new_name_(user_enter.name()), "Identity", device);
    SetAttr(&def, "T", BaseType(user_enter.input_type(0)));
    TFLEET_ASSIGN_OR_RETURN(Node * entered, Add(std::move(def), loop.parent));
    TFLEET_RETURN_IF_ERROR(Connect(watched.node, watched.index, entered, 0));
    TFLEET_ASSIGN_OR_RETURN(Node * start,
                            AddEmptyConst(new_name_(user_enter.name()), device, loop.parent));
    open_.push_back(graph_->AddControlEdge(entered, start));
    return start;
  }

  StatusOr<Node*> AddEmptyConst(const std::string& name, const std::string& device, int frame) {
    tensorflow::NodeDef def = NewNodeDef(name, "Const", device);
    SetAttr(&def, "dtype", DType::kFloat);
    TFLEET_ASSIGN_OR_RETURN(const Tensor empty, Tensor::Zeros(DType::kFloat, {0}));
    SetAttr(&def, "value", empty);
    return Add(std::move(def), frame);
  }

  StatusOr<Node*> Add(tensorflow::NodeDef def, int frame) {
    if (def.op() != "Const" && def.attr().count("T") == 0) SetAttr(&def, "T", DType::kFloat);
    const std::string device = def.device();
    TFLEET_ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(def)));
    node->set_assigned_device(device);
    frames_.frame_of.resize(graph_->num_node_ids(), kRootFrame);
    frames_.frame_of[node->id()] = frame;
    return node;
  }

  Status Connect(Node* src, int output, Node* dst, int input) {
    TFLEET_ASSIGN_OR_RETURN(const Edge* edge, graph_->AddEdge(src, output, dst, input));
    open_.push_back(edge);
    return OkStatus();
  }

  const std::function<bool(const Edge&)>& crosses_;
  const std::function<std::string(absl::string_view)>& new_name_;
  Graph* const graph_;
  LoopFrames frames_;
  bool root_branches_ = false;  // whether anything outside of loops is conditional
  std::deque<const Edge*> open_;
  absl::flat_hash_map<std::pair<int, std::string>, Node*> anchors_;  // by frame and device
  ReceiveAnchors by_edge_;
};

}  // namespace

StatusOr<ReceiveAnchors> AddControlLoops(
    const std::function<bool(const Edge&)>& crosses,
    const std::function<std::string(absl::string_view prefix)>& new_name, Graph* graph) {
  return ControlLoopBuilder(crosses, new_name, graph).Run();
}

}  // namespace tensorfleet
