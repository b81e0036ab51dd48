// Removes what a pass has left without users.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace tensorfleet {

// Made before a pass: a pruned graph holds only nodes that the step needs, so whatever has no user
// then is wanted for itself.
class DeadNodeSweep {
 public:
  explicit DeadNodeSweep(const Graph& before);
  // Keeps a node that the pass has put in the place of a wanted one.
  void Want(const Node& node);
  // Removes nodes from which neither such a node nor one with state can be reached.
  void Run(Graph* graph) const;

 private:
  std::vector<bool> wanted_;  // by node id
};

}  // namespace tensorfleet
