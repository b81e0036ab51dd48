// Small steps that several passes share when they change graphs.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// One output of a node; or the node itself, with kControlSlot.
struct Endpoint {
  Node* node = nullptr;
  int index = 0;
  friend bool operator==(const Endpoint& a, const Endpoint& b) {
    return a.node == b.node && a.index == b.index;
  }
};

// Adds a node like `node` to `graph`, without edges: attributes, requested and assigned device.
StatusOr<Node*> CopyNode(const Node& node, Graph* graph);

// A node definition without inputs.
tensorflow::NodeDef NewNodeDef(absl::string_view name, absl::string_view op,
                               absl::string_view device);

// Lets every user of data output `from` use `to` instead.
Status MoveOutput(Endpoint from, Endpoint to, Graph* graph);
// Lets what waits for `from` wait for `to`; an edge to `to` itself goes.
void MoveControlOutputs(Node* from, Node* to, Graph* graph);

// Sources of control edges into `node`.
std::vector<Node*> ControlInputs(const Node& node);

// Whether it has loops of plain nodes: Enter to Exit.
bool HasLoops(const Graph& graph);

// Where data input `i` comes from; a null node while it is not connected.
Endpoint InputOf(const Node& node, int i);

}  // namespace tensorfleet
