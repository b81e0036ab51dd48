#include "runtime/place/passes/tidy.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/passed_reference.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {
namespace {

// Larger constants are unlikely to be there twice, and comparing them takes time.
constexpr size_t kMaxComparedBytes = 4096;

bool HasControlOutput(const Node& node) {
  return std::any_of(node.out_edges().begin(), node.out_edges().end(),
                     [](const Edge* edge) { return edge->is_control(); });
}

// Fetched nodes keep their names, which show in traces.
bool IsFetched(const Node& node) {
  return std::any_of(node.out_edges().begin(), node.out_edges().end(),
                     [](const Edge* edge) { return edge->dst->IsRetval() || edge->dst->IsSend(); });
}

bool IsIdle(const Node& node) {
  if (node.op() != "Identity" && node.op() != "StopGradient" && node.op() != "PreventGradient") {
    return false;
  }
  const Edge* input = node.in_edge(0);
  if (input == nullptr || node.in_edges().size() != 1 || node.out_edges().empty()) return false;
  const Node& source = *input->src;
  return !IsRef(source.output_type(input->src_output)) &&
         source.assigned_device() == node.assigned_device() && !IsFetched(node) &&
         !(source.IsSwitch() && HasControlOutput(node));
}

// Attributes that start with "_" do not decide what a node computes.
bool SameAttrs(const Node& a, const Node& b) {
  const auto covers = [](const Node& x, const Node& y) {
    for (const auto& [name, value] : x.def().attr()) {
      if (!name.empty() && name[0] == '_') continue;
      const tensorflow::AttrValue* other = FindAttr(y.def(), name);
      if (other == nullptr || other->SerializeAsString() != value.SerializeAsString()) return false;
    }
    return true;
  };
  return covers(a, b) && covers(b, a);
}

bool MayMerge(const Node& node, const Graph& graph) {
  if (node.schema().is_stateful || node.num_outputs() == 0 || node.out_edges().empty() ||
      node.IsControlFlow() || IsFunctionCall(node, graph) || PassesReference(node)) {
    return false;
  }
  // Without inputs it stands for itself, like a placeholder, unless it is a constant.
  if (node.num_inputs() == 0 && !node.IsConstant()) return false;
  const auto is_ref = [](DType type) { return IsRef(type); };
  if (std::any_of(node.input_types().begin(), node.input_types().end(), is_ref) ||
      std::any_of(node.output_types().begin(), node.output_types().end(), is_ref)) {
    return false;
  }
  if (!node.IsConstant()) return true;
  const tensorflow::AttrValue* value = FindAttr(node.def(), "value");
  return value != nullptr && value->ByteSizeLong() <= kMaxComparedBytes;
}

// What equal nodes agree on, attributes of nodes other than constants left to SameAttrs.
std::string Signature(const Node& node) {
  std::string text = absl::StrCat(node.op(), "|", node.assigned_device());
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Endpoint input = InputOf(node, i);
    absl::StrAppend(&text, "|", input.node == nullptr ? -1 : input.node->id(), ":", input.index);
  }
  std::vector<int> controls;
  for (const Node* source : ControlInputs(node)) controls.push_back(source->id());
  std::sort(controls.begin(), controls.end());
  for (const int id : controls) absl::StrAppend(&text, "|^", id);
  if (node.IsConstant()) {
    absl::StrAppend(&text, "|", FindAttr(node.def(), "value")->SerializeAsString());
  }
  return text;
}

}  // namespace

Status RemoveIdentities(Graph* graph, const RewriteContext& context) {
  // Sources first: the users of a chain of identities move once, past all of it.
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(*graph));
  for (Node* node : order) {
    if (!IsIdle(*node)) continue;
    const Endpoint source = InputOf(*node, 0);
    TFLEET_RETURN_IF_ERROR(MoveOutput({node, 0}, source, graph));
    MoveControlOutputs(node, source.node, graph);
    graph->RemoveNode(node);
  }
  return OkStatus();
}

Status MergeEqualNodes(Graph* graph, const RewriteContext& context) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(*graph));
  absl::flat_hash_map<std::string, std::vector<Node*>> seen;
  for (Node* node : order) {
    if (!MayMerge(*node, *graph)) continue;
    std::vector<Node*>& alike = seen[Signature(*node)];
    const auto twin = std::find_if(alike.begin(), alike.end(),
                                   [&](const Node* other) { return SameAttrs(*other, *node); });
    if (twin == alike.end() || IsFetched(*node)) {
      alike.push_back(node);
      continue;
    }
    for (int i = 0; i < node->num_outputs(); ++i) {
      TFLEET_RETURN_IF_ERROR(MoveOutput({node, i}, {*twin, i}, graph));
    }
    MoveControlOutputs(node, *twin, graph);
    graph->RemoveNode(node);
  }
  return OkStatus();
}

}  // namespace tensorfleet
