#include "runtime/place/passes/sweep.h"

namespace tensorfleet {

DeadNodeSweep::DeadNodeSweep(const Graph& before) : wanted_(before.num_node_ids(), false) {
  for (const Node* node : before.nodes()) wanted_[node->id()] = node->out_edges().empty();
}

void DeadNodeSweep::Want(const Node& node) {
  if (node.id() >= static_cast<int>(wanted_.size())) wanted_.resize(node.id() + 1, false);
  wanted_[node.id()] = true;
}

void DeadNodeSweep::Run(Graph* graph) const {
  std::vector<bool> needed(graph->num_node_ids(), false);
  std::vector<Node*> open;
  auto visit = [&](Node* node) {
    if (needed[node->id()]) return;
    needed[node->id()] = true;
    open.push_back(node);
  };
  const std::vector<Node*> nodes = graph->nodes();
  for (Node* node : nodes) {
    const bool wanted = node->id() < static_cast<int>(wanted_.size()) && wanted_[node->id()];
    if (wanted || node->schema().is_stateful) visit(node);
  }
  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    for (const Edge* edge : node->in_edges()) visit(edge->src);
  }
  for (Node* node : nodes) {
    if (!needed[node->id()]) graph->RemoveNode(node);
  }
}

}  // namespace tensorfleet
