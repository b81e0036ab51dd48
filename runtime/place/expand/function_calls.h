// Which nodes call functions.
#pragma once

#include <vector>

#include "proto/graph.pb.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

bool IsIf(const Node& node);               // If, StatelessIf
bool IsWhile(const Node& node);            // While, StatelessWhile
bool IsCase(const Node& node);             // Case, StatelessCase
bool IsPartitionedCall(const Node& node);  // PartitionedCall, StatefulPartitionedCall
// A node whose op is the name of a function in the graph's library.
bool IsCallByName(const Node& node, const Graph& graph);

// Any of the above.
bool IsFunctionCall(const Node& node, const Graph& graph);

// The functions that a node names in its op or its attributes, wherever they stand.
std::vector<std::string> FunctionsNamedBy(const tensorflow::NodeDef& node);

}  // namespace tensorfleet
