// Every kernel of the CPU, in one registry. A family is a file beside this one with one function
// `void Register<Family>Kernels(KernelRegistry&)`; all.cc lists them.
#pragma once

#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet {

void RegisterCpuKernels(KernelRegistry& kernels);

// The process-wide registry with all of them, made on first use; lives for ever. Thread-safe.
const KernelRegistry& CpuKernels();

}  // namespace tensorfleet
