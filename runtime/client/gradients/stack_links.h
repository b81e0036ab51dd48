// The stacks by which a loop hands values of its rounds to the loop of its gradient. For second
// derivatives they are edges like others: what a pop gives is what a push took. The gradients of
// the popped values go on another stack, from which the loop that goes back over the pushes takes
// them: both loops run the other way round, so the order is right again.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/client/scope.h"

namespace tensorfleet {

struct StackLink {
  Node* push = nullptr;
  Node* pop = nullptr;
  bool is_reached = false;  // the pushed values depend on an x
  Output gradients;         // the other stack; invalid where nothing came back
};

class StackLinks {
 public:
  // Stacks of floating or complex numbers that are pushed and popped in one place each. Others are
  // no links: their ops have no gradients.
  static StackLinks Find(const Graph& graph);

  // Null for nodes that are no part of a link.
  StackLink* OfPush(const Node* push) const;
  StackLink* OfPop(const Node* pop) const;
  const std::vector<std::unique_ptr<StackLink>>& all() const { return links_; }

 private:
  std::vector<std::unique_ptr<StackLink>> links_;
  absl::flat_hash_map<const Node*, StackLink*> by_push_, by_pop_;
};

}  // namespace tensorfleet
