// Replaces calls of functions by the functions' bodies: plain calls are inlined, If, Case and While
// become Switch, Merge, Enter and Exit. What must stay a call (recursive, not to be inlined, not to
// be lowered) stays, and so do branches and loops that an accelerator compiles as a whole
// (compiled_calls.h).
#pragma once

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"
#include "runtime/place/rewrite.h"

namespace tensorfleet {

// Added nodes, and calls that stay, have no assigned device afterwards, but those that are compiled
// as a whole have their accelerator's. Nodes that are no longer
// needed are removed. Errors: InvalidArgument for functions that do not fit their calls, NotFound
// for unknown ones.
Status ExpandCalls(Graph* graph, const RewriteContext& context);

}  // namespace tensorfleet
