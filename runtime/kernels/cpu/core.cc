#include "runtime/kernels/cpu/core.h"

#include "runtime/kernels/cpu/families.h"

namespace tensorfleet {

void RegisterCoreCpuKernels(KernelRegistry& kernels) {
  cpu::RegisterAccumulatorKernels(kernels);
  cpu::RegisterConstantKernels(kernels);
  cpu::RegisterControlFlowKernels(kernels);
  cpu::RegisterFunctionalKernels(kernels);
  cpu::RegisterIdentityKernels(kernels);
  cpu::RegisterLoggingKernels(kernels);
  cpu::RegisterQueueKernels(kernels);
  cpu::RegisterRefVariableKernels(kernels);
  cpu::RegisterResourceVariableKernels(kernels);
  cpu::RegisterSimpleUnaryKernels(kernels);
  cpu::RegisterStackKernels(kernels);
  cpu::RegisterTransferKernels(kernels);
  cpu::RegisterWhileKernels(kernels);
}

const KernelRegistry& CoreCpuKernels() {
  static const KernelRegistry* const kernels = [] {
    auto* made = new KernelRegistry();
    RegisterCoreCpuKernels(*made);
    return made;
  }();
  return *kernels;
}

}  // namespace tensorfleet
