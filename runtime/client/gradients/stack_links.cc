#include "runtime/client/gradients/stack_links.h"

namespace tensorfleet {
namespace {

// The StackV2 that made the node's first input; null where it cannot be told.
const Node* StackOf(const Node* node) {
  const Edge* edge = node->in_edge(0);
  while (edge != nullptr && edge->src->IsEnter()) edge = edge->src->in_edge(0);
  return edge != nullptr && edge->src->op() == "StackV2" ? edge->src : nullptr;
}

}  // namespace

StackLinks StackLinks::Find(const Graph& graph) {
  struct Users {
    std::vector<Node*> pushes, pops;
  };
  std::vector<const Node*> stacks;
  absl::flat_hash_map<const Node*, Users> users;
  for (Node* node : graph.nodes()) {
    const bool is_push = node->op() == "StackPushV2";
    if (!is_push && node->op() != "StackPopV2") continue;
    const DType type = BaseType(node->output_type(0));
    const bool carries = IsFloating(type) || IsComplex(type) || type == DType::kVariant;
    const Node* stack = carries ? StackOf(node) : nullptr;
    if (stack == nullptr) continue;
    if (!users.contains(stack)) stacks.push_back(stack);
    (is_push ? users[stack].pushes : users[stack].pops).push_back(node);
  }
  StackLinks found;
  for (const Node* stack : stacks) {
    const Users& both = users[stack];
    if (both.pushes.size() != 1 || both.pops.size() != 1) continue;
    auto link = std::make_unique<StackLink>();
    link->push = both.pushes[0];
    link->pop = both.pops[0];
    found.by_push_[link->push] = found.by_pop_[link->pop] = link.get();
    found.links_.push_back(std::move(link));
  }
  return found;
}

StackLink* StackLinks::OfPush(const Node* push) const {
  const auto it = by_push_.find(push);
  return it == by_push_.end() ? nullptr : it->second;
}

StackLink* StackLinks::OfPop(const Node* pop) const {
  const auto it = by_pop_.find(pop);
  return it == by_pop_.end() ? nullptr : it->second;
}

}  // namespace tensorfleet
