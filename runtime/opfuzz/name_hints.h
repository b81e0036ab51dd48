// What the names of inputs say about their shapes: "axis" is a scalar, "begin" as long as the rank,
// and so on.
#pragma once

#include "runtime/opfuzz/node_plan.h"

namespace tensorfleet::opfuzz {

void HintByNames(Random& random, const OpSchema& schema, NodePlan* plan);

}  // namespace tensorfleet::opfuzz
