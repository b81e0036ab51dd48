// Importing a GraphDef into a graph that may hold nodes already: names, inputs and devices are
// rewritten first, then the message goes through the scope's own import.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/client/scope.h"

namespace tensorfleet::capi {

struct ImportOptions {
  using Name = std::pair<std::string, int>;  // a node's name and an output, kControlSlot for itself
  std::string prefix;
  bool uniquify_names = false;
  bool uniquify_prefix = false;
  std::string default_device;
  // Names of the message to what is taken instead: names of nodes of the graph.
  std::map<Name, Name> input_map;
  std::vector<std::string> control_inputs;  // nodes of the graph that all waits for
  // What the results are to tell of, by names of the message.
  std::vector<Name> return_outputs;
  std::vector<std::string> return_nodes;
};

struct ImportResults {
  std::vector<Output> outputs;
  std::vector<Node*> nodes;
  std::vector<ImportOptions::Name> missing_unused;  // of input_map
};

// Errors: those of Scope::Import; InvalidArgument for a name that is taken, an input or a returned
// name that there is not. The graph is as it was then.
StatusOr<ImportResults> ImportInto(const Scope& scope, tensorflow::GraphDef def,
                                   const ImportOptions& options);

}  // namespace tensorfleet::capi
