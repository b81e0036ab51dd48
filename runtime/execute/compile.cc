#include "runtime/execute/compile.h"

#include <algorithm>
#include <utility>

#include "runtime/base/contain.h"
#include "runtime/execute/frame_layout.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/passed_reference.h"

namespace tensorfleet::execute {
namespace {

class GraphCompiler {
 public:
  GraphCompiler(const Graph& graph, const KernelProvider& kernels)
      : graph_(graph), make_kernel_(kernels), out_(std::make_unique<CompiledGraph>()) {}

  StatusOr<std::unique_ptr<CompiledGraph>> Run() {
    TFLEET_ASSIGN_OR_RETURN(FrameAssignment frames, AssignFrames(graph_));
    out_->frames = std::move(frames.frames);
    out_->has_loops = out_->frames.size() > 1;
    const std::vector<Node*> nodes = graph_.nodes();
    out_->nodes = std::vector<NodeItem>(nodes.size());
    item_of_.assign(graph_.num_node_ids(), -1);
    for (size_t i = 0; i < nodes.size(); ++i) {
      item_of_[nodes[i]->id()] = static_cast<int32_t>(i);
      TFLEET_RETURN_IF_ERROR(AddNode(*nodes[i], static_cast<int32_t>(i),
                                     frames.frame_of[nodes[i]->id()],
                                     frames.child_of[nodes[i]->id()]));
    }
    for (NodeItem& item : out_->nodes) AddEdges(&item);
    OrderRoots();
    return std::move(out_);
  }

 private:
  Status AddNode(const Node& node, int32_t id, int32_t frame_index, int32_t child_frame) {
    FrameLayout& frame = out_->frames[frame_index];
    NodeItem& item = out_->nodes[id];
    item.node = &node;
    item.id = id;
    item.num_inputs = node.num_inputs();
    item.num_outputs = node.num_outputs();
    item.input_begin = frame.num_slots;
    frame.num_slots += item.num_inputs;
    item.state = static_cast<int32_t>(frame.first_states.size());
    item.flags = FlagsOf(node);
    item.child_frame = child_frame;
    if (item.Is(kIsEnter)) item.enter_or_exit = out_->frames[child_frame].index_in_parent;
    if (item.Is(kIsExit)) {
      item.enter_or_exit = static_cast<int32_t>(frame.exits.size());
      frame.exits.push_back(id);
    }
    TFLEET_ASSIGN_OR_RETURN(const uint32_t state, FirstState(node, item));
    frame.first_states.push_back(state);
    if (item.num_outputs > 0) item.output_type = node.output_type(0);
    if (item.num_outputs == 1 && !IsRef(item.output_type) &&
        !item.Is(kIsEnter | kIsExit | kIsNextIteration | kIsTransfer | kMayLeaveOutputs |
                 kPassesReference)) {
      item.flags |= kIsPlain;
    }
    item.output_types = static_cast<int32_t>(out_->output_types.size());
    out_->output_types.insert(out_->output_types.end(), node.output_types().begin(),
                              node.output_types().end());
    out_->max_outputs = std::max(out_->max_outputs, item.num_outputs);
    if (item.Is(kIsMerge) || out_->has_loops) out_->leaves_nothing = false;
    if (node.IsRecv()) out_->has_recv = true;
    AddRefInputs(node, &item);
    return AddKernel(node, &item);
  }

  static uint16_t FlagsOf(const Node& node) {
    uint16_t flags = 0;
    if (node.IsMerge()) flags |= kIsMerge;
    if (node.IsEnter()) flags |= kIsEnter;
    if (node.IsExit()) flags |= kIsExit;
    if (node.IsNextIteration()) flags |= kIsNextIteration;
    if (node.IsControlTrigger()) flags |= kIsControlTrigger;
    if (node.IsSend() || node.IsRecv()) flags |= kIsTransfer | kIsUrgent;
    if (node.IsSwitch()) flags |= kMayLeaveOutputs;
    if (PassesReference(node)) flags |= kPassesReference;
    // Step statistics leave out the nodes that servers add: the client does not know them.
    if (!node.IsSend() && !node.IsRecv() && !node.IsArg() && !node.IsRetval()) flags |= kIsTraced;
    return flags;
  }

  // What a node waits for at the start of an iteration; also checks that every input is connected.
  StatusOr<uint32_t> FirstState(const Node& node, const NodeItem& item) {
    uint32_t control = 0;
    for (const Edge* edge : node.in_edges()) control += edge->is_control();
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (node.in_edge(i) == nullptr) {
        return InvalidArgument("{{node ", node.name(), "}}: input ", i, " is not connected");
      }
    }
    if (!item.Is(kIsMerge)) return control + static_cast<uint32_t>(item.num_inputs);
    if (item.num_inputs > kMaxMergeInputs || control > static_cast<uint32_t>(kMaxMergeInputs)) {
      return InvalidArgument("{{node ", node.name(), "}}: a Merge may have at most ",
                             kMaxMergeInputs, " inputs and as many control inputs");
    }
    return kMergeWaits + control * kMergeControl;
  }

  void AddRefInputs(const Node& node, NodeItem* item) {
    item->refs_begin = static_cast<int32_t>(out_->ref_inputs.size());
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge& edge = *node.in_edge(i);
      if (!IsRef(edge.src->output_type(edge.src_output)) && !PassesReference(*edge.src)) continue;
      RefInput ref;
      ref.input = i;
      const bool passed_on = item->Is(kPassesReference) && MayPassReference(node, i);
      ref.read = !IsRef(node.input_type(i)) && !passed_on;
      ref.must_be_initialized = ref.read || !node.schema().allows_uninitialized_input;
      ref.variable = edge.src->name();
      if (edge.src_output > 0) absl::StrAppend(&ref.variable, ":", edge.src_output);
      // A Merge passes on whichever input came; the next node looks at the value.
      if (item->Is(kIsMerge) && !ref.read) ref.must_be_initialized = false;
      if (ref.read || ref.must_be_initialized) out_->ref_inputs.push_back(std::move(ref));
    }
    item->refs_end = static_cast<int32_t>(out_->ref_inputs.size());
    if (item->refs_end > item->refs_begin) item->flags |= kHasRefInputs;
  }

  Status AddKernel(const Node& node, NodeItem* item) {
    StatusOr<std::shared_ptr<const Kernel>> kernel = Contained([&] { return make_kernel_(node); });
    if (!kernel.ok()) return WithNode(kernel.status(), node.name());
    item->kernel = kernel->get();
    item->async = item->kernel->AsAsync();
    if (item->async != nullptr) item->flags |= kIsUrgent;
    if (item->Is(kIsEnter)) {
      TFLEET_ASSIGN_OR_RETURN(const bool constant,
                              GetAttrOr<bool>(node.def(), "is_constant", false));
      if (constant) item->flags |= kIsConstantEnter;
    }
    item->cost.store(item->kernel->IsExpensive() ? kUnknownCost : 0, std::memory_order_relaxed);
    out_->kernels.push_back(*std::move(kernel));
    return OkStatus();
  }

  void AddEdges(NodeItem* item) {
    const std::vector<Edge*>& edges = item->node->out_edges();
    item->edges_begin = static_cast<int32_t>(out_->edges.size());
    for (const Edge* edge : edges) {
      if (!edge->is_control()) out_->edges.push_back(Flat(*edge));
    }
    item->control_begin = static_cast<int32_t>(out_->edges.size());
    const auto begin = out_->edges.begin() + item->edges_begin;
    std::stable_sort(begin, out_->edges.end(),
                     [](const OutEdge& a, const OutEdge& b) { return a.output < b.output; });
    for (auto edge = begin; edge != out_->edges.end(); ++edge) {
      edge->is_last = edge + 1 == out_->edges.end() || (edge + 1)->output != edge->output;
    }
    for (const Edge* edge : edges) {
      if (edge->is_control()) out_->edges.push_back(Flat(*edge));
    }
    item->edges_end = static_cast<int32_t>(out_->edges.size());
    const bool stays_in_iteration = !item->Is(kIsEnter | kIsExit | kIsNextIteration);
    if (stays_in_iteration && item->num_outputs == 1 &&
        item->control_begin == item->edges_begin + 1) {
      const OutEdge& only = out_->edges[item->edges_begin];
      // A Merge runs, and empties all its slots, while a kernel may still be at one of them.
      if (!only.to_merge) item->direct_slot = only.slot;
    }
    if (item->node->in_edges().empty()) out_->roots.push_back(item->id);
  }

  OutEdge Flat(const Edge& edge) const {
    const NodeItem& dst = out_->nodes[item_of_[edge.dst->id()]];
    OutEdge flat;
    flat.dst = dst.id;
    flat.dst_state = dst.state;
    flat.to_merge = dst.Is(kIsMerge);
    if (!edge.is_control()) {
      flat.slot = dst.input_begin + edge.dst_input;
      flat.output = edge.src_output;
    }
    return flat;
  }

  // What others wait for goes first; what waits for others starts waiting early.
  void OrderRoots() {
    std::stable_sort(out_->roots.begin(), out_->roots.end(), [&](int32_t a, int32_t b) {
      return out_->nodes[a].Is(kIsUrgent) > out_->nodes[b].Is(kIsUrgent);
    });
  }

  const Graph& graph_;
  const KernelProvider& make_kernel_;
  std::unique_ptr<CompiledGraph> out_;
  std::vector<int32_t> item_of_;  // by node id
};

}  // namespace

StatusOr<std::unique_ptr<CompiledGraph>> CompileGraph(const Graph& graph,
                                                      const KernelProvider& kernels) {
  return GraphCompiler(graph, kernels).Run();
}

}  // namespace tensorfleet::execute
