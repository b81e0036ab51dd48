// A function made of nodes of a graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/client/scope.h"

namespace tensorfleet::capi {

struct FunctionSpec {
  std::string name;
  bool append_hash = false;  // of what the function does
  std::string description;
  // All of the graph but the nodes of the inputs, when absent.
  std::optional<std::vector<Operation>> body;
  std::vector<Output> inputs;
  std::vector<Output> outputs;
  std::vector<std::string> output_names;  // empty: those of their nodes
  std::vector<Operation> control_outputs;
  std::vector<std::string> control_output_names;  // empty: those of their nodes
};

// Errors: InvalidArgument for an input given twice, one of a reference type, an edge into the body
// from elsewhere, a name that is used twice.
StatusOr<tensorflow::FunctionDef> GraphToFunction(const Graph& graph, const FunctionSpec& spec);

}  // namespace tensorfleet::capi
