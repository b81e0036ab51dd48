// Puts the body of a function into a graph, in the place of a call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {

struct BodySite {
  std::string prefix;  // of the names of added nodes, "call/"
  std::string device;  // fills what a node's own request leaves open
  std::vector<Endpoint> args;
  // Arguments that are there whether or not the body is to run (invariants of a loop). Empty: none
  // is.
  std::vector<bool> always_alive;
  // Gives the node after which body nodes may start that no argument holds back, or null when they
  // may start right away. Asked at most once, and only when there are such nodes.
  std::function<StatusOr<Node*>()> starter;
};

struct InsertedBody {
  std::vector<Endpoint> returns;  // may be arguments
  std::vector<Node*>
      side_effects;          // must have run before the call counts as done; returns are not listed
  std::vector<Node*> calls;  // added nodes that call functions themselves
};

// Nodes that neither a return nor a side effect needs are left out. Names of frames and colocation
// classes get the prefix too. Added nodes are not placed. Errors: InvalidArgument when arguments do
// not fit.
StatusOr<InsertedBody> InsertBody(const FunctionBody& body, const BodySite& site, Graph* graph);

// `requested`, with what it leaves open taken from `outer`. A name that cannot be read is returned
// as it is.
std::string DeviceInside(const std::string& requested, const std::string& outer);

}  // namespace tensorfleet
