// What the schemas do not say: how the inputs of some ops belong together. Half of the time a plan
// is put right by these, so that its kernel has something to do.
#pragma once

#include "runtime/opfuzz/node_plan.h"

namespace tensorfleet::opfuzz {

// Attributes that go together, before inputs are made for them.
void HintAttrs(Random& random, const OpSchema& schema, tensorflow::NodeDef* def);
void Hint(Random& random, const OpSchema& schema, NodePlan* plan);

}  // namespace tensorfleet::opfuzz
