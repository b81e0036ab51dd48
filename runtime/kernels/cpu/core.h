// The kernels without which few graphs run: the portable ones (runtime/kernels/portable),
// variables, accumulators, and the simplest arithmetic. A library of their own
// (runtime_kernels_cpu_core), so that tests of what runs kernels need not build the numerous large
// ones. all.h has them too.
#pragma once

#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet {

void RegisterCoreCpuKernels(KernelRegistry& kernels);

// The process-wide registry with these, made on first use; lives for ever. Thread-safe.
const KernelRegistry& CoreCpuKernels();

}  // namespace tensorfleet
