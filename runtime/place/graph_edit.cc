#include "runtime/place/graph_edit.h"

#include <utility>

namespace tensorfleet {

StatusOr<Node*> CopyNode(const Node& node, Graph* graph) {
  tensorflow::NodeDef def = node.def();
  def.clear_input();
  TFLEET_ASSIGN_OR_RETURN(Node * copy, graph->AddNode(std::move(def)));
  copy->set_assigned_device(node.assigned_device());
  return copy;
}

tensorflow::NodeDef NewNodeDef(absl::string_view name, absl::string_view op,
                               absl::string_view device) {
  tensorflow::NodeDef def;
  def.set_name(std::string(name));
  def.set_op(std::string(op));
  def.set_device(std::string(device));
  return def;
}

Status MoveOutput(Endpoint from, Endpoint to, Graph* graph) {
  const std::vector<Edge*> edges = from.node->out_edges();
  for (const Edge* edge : edges) {
    if (edge->src_output != from.index) continue;
    TFLEET_RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, to.node, to.index));
  }
  return OkStatus();
}

void MoveControlOutputs(Node* from, Node* to, Graph* graph) {
  const std::vector<Edge*> edges = from->out_edges();
  for (const Edge* edge : edges) {
    if (!edge->is_control()) continue;
    Node* user = edge->dst;
    graph->RemoveEdge(edge);
    if (user != to) graph->AddControlEdge(to, user);
  }
}

std::vector<Node*> ControlInputs(const Node& node) {
  std::vector<Node*> sources;
  for (const Edge* edge : node.in_edges()) {
    if (edge->is_control()) sources.push_back(edge->src);
  }
  return sources;
}

bool HasLoops(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    if (node->IsEnter()) return true;
  }
  return false;
}

Endpoint InputOf(const Node& node, int i) {
  const Edge* edge = node.in_edge(i);
  if (edge == nullptr) return {};
  return {edge->src, edge->src_output};
}

}  // namespace tensorfleet
