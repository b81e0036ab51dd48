// Calls of functions that an accelerator compiles as a whole: branches and loops that are one
// launch, where as Switch, Merge and NextIteration they would be a launch for every iteration.
#pragma once

#include <string>
#include <vector>

#include "runtime/device/device_name.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet {

struct RewriteContext;

// The nodes of a function's body that a call runs, in topological order: what its results need, and
// what has state. Errors: those of TopologicalOrder.
StatusOr<std::vector<Node*>> NeededNodes(const FunctionBody& body);

// Whether everything that `call` may run has a lowering (accelerator.h, kCompiled) and may be on
// `device`. No for functions that call themselves.
bool CompilesWhole(const Node& call, const Graph& graph, const KernelRegistry& kernels,
                   const DeviceName& device);

// The accelerator on which `call`, a branch or a loop, is to be compiled as a whole: one that its
// request allows, and where the variables that it takes are. Empty when there is none. For calls
// that have been placed.
std::string AcceleratorFor(const Node& call, const Graph& graph, const RewriteContext& context);

}  // namespace tensorfleet
