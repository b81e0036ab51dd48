// The kernels that only hand tensors on or hold them for later, and never look at their elements on
// a hot path: control flow, identity, constants, calls of functions, transfers, queues, stacks,
// files and checkpoints. Every device shares them.
#pragma once

#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet {

void RegisterPortableKernels(KernelRegistry& kernels);

}  // namespace tensorfleet
