// Windows over images: attributes, and inputs whose shapes fit them.
#pragma once

#include "runtime/opfuzz/node_plan.h"

namespace tensorfleet::opfuzz {

// Strides, windows and paddings for four dimensions, in the layout that the node says.
void HintWindowAttrs(Random& random, const OpSchema& schema, tensorflow::NodeDef* def);
// Inputs of convolutions and pools and of their gradients.
void HintWindowInputs(Random& random, const OpSchema& schema, NodePlan* plan);

}  // namespace tensorfleet::opfuzz
