// The functions that a node's attributes name.
#pragma once

#include "runtime/opfuzz/draft.h"
#include "runtime/opfuzz/random.h"

namespace tensorfleet::opfuzz {

// Defines each function that `def` names, with the arguments and results that the op calls it with
// (now and then others): results are arguments handed on, or constants. A loop's condition seldom
// holds, and then for ever.
void DefineFunctions(Random& random, const tensorflow::NodeDef& def, Draft* draft);

}  // namespace tensorfleet::opfuzz
