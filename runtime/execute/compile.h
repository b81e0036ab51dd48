// From a graph to the flat form that the executor runs. See compiled_graph.h.
#pragma once

#include <memory>

#include "runtime/base/status.h"
#include "runtime/execute/compiled_graph.h"
#include "runtime/execute/executor.h"
#include "runtime/graph/graph.h"

namespace tensorfleet::execute {

// The result points into `graph`. Errors: those of Executor::Compile.
StatusOr<std::unique_ptr<CompiledGraph>> CompileGraph(const Graph& graph,
                                                      const KernelProvider& kernels);

}  // namespace tensorfleet::execute
