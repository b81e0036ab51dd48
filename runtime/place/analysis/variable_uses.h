// Who changes and who reads the reference variables of a graph.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace tensorfleet {

struct VariableUses {
  Node* variable = nullptr;
  std::vector<Node*> updates;      // nodes that take a reference in order to change the variable
  std::vector<const Edge*> reads;  // from a reference to an input that takes a value
};

// One entry for each variable that has both updates and reads, through whatever Ref ops hand the
// reference on. An op with a reference input changes the variable unless it is known not to.
std::vector<VariableUses> FindVariableUses(const Graph& graph);

}  // namespace tensorfleet
