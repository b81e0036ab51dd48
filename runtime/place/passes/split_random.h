// Random ops on accelerators: the counter of a stateful op stays on the host (_ReserveRandom), and
// the numbers come from the stateless op at that place of the sequence, which can be compiled. So
// every step gets the numbers that it would get on the host.
#pragma once

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"
#include "runtime/place/rewrite.h"

namespace tensorfleet {

Status SplitRandom(Graph* graph, const RewriteContext& context);

}  // namespace tensorfleet
