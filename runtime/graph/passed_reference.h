// Nodes that hand on the reference of a variable although their output is typed as a value. In
// TensorFlow the value of an Identity shares the variable's memory, and so does what Enter, Switch
// and their like make of it: who computes with it later sees later updates. A marked node passes
// the reference itself on, and each consumer reads the variable when the consumer runs.
#pragma once

#include "runtime/graph/graph.h"

namespace tensorfleet {

// Whether the op hands data input `input` on as it is, so that its nodes may be marked; the outputs
// that show it are those of the input's type.
bool MayPassReference(const Node& node, int input);

// Whether the node was marked, and its op allows that.
bool PassesReference(const Node& node);
void MarkPassesReference(Node* node);

}  // namespace tensorfleet
