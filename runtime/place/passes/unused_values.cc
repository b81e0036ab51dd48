#include "runtime/place/passes/unused_values.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_split.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {
namespace {

// How many edges are followed in a graph, at most, to see who waits for another device anyway.
constexpr int64_t kMostEdges = 1'000'000;

// What gradients are made of. Nothing that is there for its errors, and nothing that passes on
// whether its branch is dead in another way than by its inputs.
bool OnlyComputes(const Node& node) {
  static const auto* const kOps = new absl::flat_hash_set<std::string>(absl::StrSplit(
      "Add AddN AddV2 AvgPoolGrad BatchMatMul BatchMatMulV2 BatchMatMulV3 "
      "BiasAddGrad BroadcastGradientArgs BroadcastTo Cast Const Conv2DBackpropFilter "
      "Conv2DBackpropInput DepthwiseConv2dNativeBackpropFilter "
      "DepthwiseConv2dNativeBackpropInput EluGrad ExpandDims Fill LeakyReluGrad "
      "MatMul MaxPoolGrad Maximum Mul Neg OnesLike RealDiv Relu6Grad ReluGrad "
      "Reshape RsqrtGrad Select SelectV2 Shape ShapeN SigmoidGrad Size SoftplusGrad "
      "SqrtGrad Square Squeeze StridedSliceGrad Sub Sum TanhGrad Tile Transpose "
      "ZerosLike",
      ' '));
  const auto reads_variable = [](const Edge* edge) {
    return !edge->is_control() && IsRef(edge->src->output_type(edge->src_output));
  };
  return kOps->contains(node.op()) && !node.schema().is_stateful &&
         std::none_of(node.in_edges().begin(), node.in_edges().end(), reads_variable);
}

class Pass {
 public:
  Pass(Graph* graph, const std::vector<Node*>& order)
      : graph_(graph), position_(graph->num_node_ids()) {
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]->id()] = i;
  }

  // Whether the node was left out.
  bool TryLeaveOut(Node* node) {
    if (!OnlyComputes(*node) || !IsUnused(*node)) return false;
    std::vector<std::pair<Node*, Node*>> waits;
    for (const Edge* in : node->in_edges()) {
      // A Switch tells by its outputs which branch is dead, and not by itself.
      if (in->src->IsSwitch() && !in->is_control()) return false;
      if (in->src->in_edges().empty()) continue;  // runs at once
      for (const Edge* out : node->out_edges()) {
        if (out->dst->IsMerge()) return false;
        if (in->src->assigned_device() == out->dst->assigned_device()) {
          waits.emplace_back(in->src, out->dst);
        } else if (!WaitsAnyway(*in->src, *out->dst, *node)) {
          return false;
        }
      }
    }
    for (const Edge* in : node->in_edges()) lost_a_user_.insert(in->src);
    graph_->RemoveNode(node);
    for (const auto& [before, after] : waits) graph_->AddControlEdge(before, after);
    return true;
  }

 private:
  // A node that nobody used from the beginning was asked for.
  bool IsUnused(const Node& node) const {
    if (node.out_edges().empty()) return lost_a_user_.contains(&node);
    return std::all_of(node.out_edges().begin(), node.out_edges().end(),
                       [](const Edge* edge) { return edge->is_control(); });
  }

  // Whether `after` runs after `before`, and is dead where that is, though `without` were not
  // there. Merges make no such promise.
  bool WaitsAnyway(const Node& before, const Node& after, const Node& without) {
    absl::flat_hash_set<const Node*> seen = {&after, &without};
    std::vector<const Node*> todo = {&after};
    while (!todo.empty()) {
      const Node* node = todo.back();
      todo.pop_back();
      for (const Edge* edge : node->in_edges()) {
        if (--edges_left_ < 0) return false;
        const Node& source = *edge->src;
        if (&source == &without) continue;
        if (&source == &before) return true;
        if (!source.IsMerge() && position_[source.id()] > position_[before.id()] &&
            seen.insert(&source).second) {
          todo.push_back(&source);
        }
      }
    }
    return false;
  }

  Graph* const graph_;
  int64_t edges_left_ = kMostEdges;
  std::vector<size_t> position_;  // in topological order, by id
  absl::flat_hash_set<const Node*> lost_a_user_;
};

}  // namespace

Status LeaveOutUnusedValues(Graph* graph, const RewriteContext& context) {
  if (HasLoops(*graph)) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(std::vector<Node*> order, TopologicalOrder(*graph));
  Pass pass(graph, order);
  // Users first: what only they used may go as well.
  std::reverse(order.begin(), order.end());
  for (Node* node : order) pass.TryLeaveOut(node);
  return OkStatus();
}

}  // namespace tensorfleet
