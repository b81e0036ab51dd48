// Passes that leave out nodes which change nothing.
#pragma once

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"
#include "runtime/place/rewrite.h"

namespace tensorfleet {

// Lets users of an Identity use its input, where that is on the same device. Identities stay that
// are fetched, wait for something, read a reference, or tell the branches of a Switch apart.
Status RemoveIdentities(Graph* graph, const RewriteContext& context);

// Computes equal expressions once: stateless nodes of one op on one device with the same
// attributes, inputs and control inputs.
Status MergeEqualNodes(Graph* graph, const RewriteContext& context);

}  // namespace tensorfleet
