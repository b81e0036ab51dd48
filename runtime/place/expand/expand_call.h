// One call of functions, replaced by their bodies: a plain call is inlined, an If, Case or While
// becomes Switch, Merge, Enter and Exit.
#pragma once

#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// A call of one function, whatever its arguments: PartitionedCall, or a function's name as the op.
bool IsPlainCall(const Node& call, const Graph& graph);

// The functions that a call names, in the order in which they are used: then and else, condition
// and body, the branches by number. Errors: NotFound for one that the graph's library lacks.
StatusOr<std::vector<tensorflow::NameAttrList>> FunctionsOf(const Node& call, const Graph& graph);

// Their bodies. Errors: those of InstantiateFunction.
StatusOr<std::vector<FunctionBody>> BodiesOf(absl::Span<const tensorflow::NameAttrList> functions,
                                             const Graph& graph);

// Removes `call` and lets its users use what its bodies return. A call that is not plain must be
// one that CanLower (lower_control_flow.h) says yes to. `conditional` says whether some of the
// graph's nodes may not run in a step. Returns those of the added nodes that call functions
// themselves. Errors: InvalidArgument for functions that do not fit the call.
StatusOr<std::vector<Node*>> ExpandCall(Node* call, const std::vector<FunctionBody>& bodies,
                                        bool conditional, Graph* graph);

}  // namespace tensorfleet
