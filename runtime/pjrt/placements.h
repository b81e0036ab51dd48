// Which ops may be placed on devices behind PJRT, and which of them can be compiled: said to a
// KernelRegistry, for every server alike, with plug-ins or without.
#pragma once

#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::pjrt {

// Says of the CPU's kernels in `kernels`, which must be there already, what accelerators may do
// with their ops.
void AddAccelerators(KernelRegistry* kernels);

// The process-wide registry with the CPU's kernels and what AddAccelerators says of them, made on
// first use; lives for ever. Thread-safe.
const KernelRegistry& AllKernels();

}  // namespace tensorfleet::pjrt
