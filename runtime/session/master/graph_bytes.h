// What a graph costs that is kept to be run.
#pragma once

#include <cstdint>

#include "runtime/graph/graph.h"

namespace tensorfleet {

// About the bytes that a worker keeps for `graph` once it is registered: its nodes with their
// attributes (so the values of constants, too), their kernels, and one idle step state.
int64_t BytesKeptFor(const Graph& graph);

}  // namespace tensorfleet
