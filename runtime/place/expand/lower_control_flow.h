// If, Case and While in terms of Switch, Merge, Enter, Exit and NextIteration: the form in which
// branches and loops may span devices, and in which only what is needed of a branch waits for it.
#pragma once

#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// Each removes `node` and returns the nodes among the added ones that call functions. `bodies` were
// instantiated for the node: then and else, the branches in order, or condition and body.
StatusOr<std::vector<Node*>> LowerIf(Node* node, const std::vector<FunctionBody>& bodies,
                                     Graph* graph);
StatusOr<std::vector<Node*>> LowerCase(Node* node, const std::vector<FunctionBody>& bodies,
                                       Graph* graph);
StatusOr<std::vector<Node*>> LowerWhile(Node* node, const std::vector<FunctionBody>& bodies,
                                        Graph* graph);

// Whether the node can be lowered at all: predicates must be bool, and a loop must carry something.
bool CanLower(const Node& node, const std::vector<FunctionBody>& bodies);

}  // namespace tensorfleet
