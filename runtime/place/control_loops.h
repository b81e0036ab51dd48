// Loops that span pieces of a graph. A receive inside a loop must run once per iteration, so
// something in its own piece has to start it: a Merge of the loop where the piece has one,
// otherwise a control loop made here, which carries no data and goes on for as long as the loop's
// condition, sent over, says so.
#pragma once

#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// By edge id: the node whose control output starts the receive for the edge. Edges outside of loops
// have none.
using ReceiveAnchors = absl::flat_hash_map<int, Node*>;

// `crosses` tells whether an edge will be cut. Adds control loops to `graph` (nodes
// "_cloop<name>_S<k>", names from `new_name`) until every cut edge inside a loop has an anchor on
// the device of its destination. Errors: InvalidArgument for malformed loops and for a back edge
// that would be cut.
StatusOr<ReceiveAnchors> AddControlLoops(
    const std::function<bool(const Edge&)>& crosses,
    const std::function<std::string(absl::string_view prefix)>& new_name, Graph* graph);

}  // namespace tensorfleet
