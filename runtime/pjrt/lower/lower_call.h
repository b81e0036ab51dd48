// Calls of functions in a program: plain calls are lowered in their place, branches and loops
// become computations of their own.
#pragma once

#include <vector>

#include "runtime/pjrt/lower/lower_graph.h"

namespace tensorfleet::pjrt {

// Lowers `node`, a call (place/expand/function_calls.h), whose data inputs are `inputs` (null for
// handles), into `outputs`. Errors: those of GraphLowering; then `needed` has the inputs whose
// values might help.
Status LowerCall(GraphLowering& caller, const Node& node, const std::vector<Value*>& inputs,
                 absl::Span<Value> outputs, std::vector<int>* needed);

}  // namespace tensorfleet::pjrt
