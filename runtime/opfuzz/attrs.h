// Random attributes of a node, so that those that give its types fit a kernel that there is.
#pragma once

#include "runtime/graph/op_schema.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/opfuzz/random.h"

namespace tensorfleet::opfuzz {

// Names the node and its op and fills every attribute; functions get the names "f0", "f1", ... in
// the order of the schema, and are to be defined by the caller (functions.h).
tensorflow::NodeDef RandomNodeDef(Random& random, const OpSchema& schema,
                                  const KernelRegistry& kernels);

// Gives one attribute another value, often one that nobody would write.
void DisturbAttr(Random& random, const OpSchema& schema, tensorflow::NodeDef* def);

// A type that elements of a constant can have.
DType RandomPlainType(Random& random);

}  // namespace tensorfleet::opfuzz
