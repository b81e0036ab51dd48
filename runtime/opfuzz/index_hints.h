// Indices, and what lies at them: sparse tensors, rows of variables, and the Nd family.
#pragma once

#include "runtime/opfuzz/node_plan.h"

namespace tensorfleet::opfuzz {

// Inputs that end in "indices", "values" and "shape" become one sparse tensor: positions in order,
// inside the shape.
void HintSparse(Random& random, const OpSchema& schema, NodePlan* plan);
// indices and segment_ids of one length, inside input 0 and in order.
void HintSegments(Random& random, const OpSchema& schema, NodePlan* plan);
// indices of rank one into the first dimension of what input 0 holds, and rows for them.
void HintRows(Random& random, const OpSchema& schema, NodePlan* plan);
// indices whose last dimension walks down input 0's, and updates for them.
void HintNd(Random& random, const OpSchema& schema, NodePlan* plan);

}  // namespace tensorfleet::opfuzz
