#include "runtime/place/analysis/variable_uses.h"

#include <utility>

#include "absl/container/flat_hash_set.h"

namespace tensorfleet {
namespace {

// The Ref forms of control flow, RefIdentity and RefSelect.
bool HandsReferenceOn(const Node& node) {
  return node.IsControlFlow() || node.Is(NodeKind::kHandsReference);
}

VariableUses UsesOf(Node* variable) {
  VariableUses uses;
  uses.variable = variable;
  absl::flat_hash_set<const Node*> seen = {variable};
  std::vector<const Node*> todo = {variable};
  while (!todo.empty()) {
    const Node* const source = todo.back();
    todo.pop_back();
    for (const Edge* edge : source->out_edges()) {
      if (edge->is_control() || !IsRef(source->output_type(edge->src_output))) continue;
      Node* const user = edge->dst;
      if (!IsRef(user->input_type(edge->dst_input))) {
        uses.reads.push_back(edge);
        continue;
      }
      if (user->op() == "IsVariableInitialized" || !seen.insert(user).second) continue;
      if (!HandsReferenceOn(*user)) uses.updates.push_back(user);
      // An update returns the reference of its first input.
      if (HandsReferenceOn(*user) || edge->dst_input == 0) todo.push_back(user);
    }
  }
  return uses;
}

}  // namespace

std::vector<VariableUses> FindVariableUses(const Graph& graph) {
  std::vector<VariableUses> found;
  for (Node* node : graph.nodes()) {
    if (!node->IsVariable()) continue;
    VariableUses uses = UsesOf(node);
    if (!uses.updates.empty() && !uses.reads.empty()) found.push_back(std::move(uses));
  }
  return found;
}

}  // namespace tensorfleet
