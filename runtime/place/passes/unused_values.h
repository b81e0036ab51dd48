// Values that are computed only so that something can wait for them. A gradient's `group_deps`
// waits for the gradients of all inputs, of those too that nobody trains: the images of a batch,
// whose gradient is as much work as that of the weights.
#pragma once

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"
#include "runtime/place/rewrite.h"

namespace tensorfleet {

// Leaves out nodes of which only control edges go out and which do nothing but compute: what waited
// for them waits for their inputs. A node stays where that would make a task wait for another that
// it does not wait for anyway. Outside loops. As TensorFlow's dependency optimiser, it also leaves
// out the complaint of such a node about shapes that do not fit; nodes that are there to complain
// (Assert, CheckNumerics) stay.
Status LeaveOutUnusedValues(Graph* graph, const RewriteContext& context);

}  // namespace tensorfleet
