#include "runtime/kernels/cpu/all.h"

#include "runtime/kernels/cpu/families.h"

namespace tensorfleet {

void RegisterCpuKernels(KernelRegistry& kernels) {
  cpu::RegisterControlFlowKernels(kernels);
  cpu::RegisterFunctionalKernels(kernels);
  cpu::RegisterSimpleUnaryKernels(kernels);
  cpu::RegisterTransferKernels(kernels);
  cpu::RegisterWhileKernels(kernels);
}

const KernelRegistry& CpuKernels() {
  static const KernelRegistry* const kernels = [] {
    auto* made = new KernelRegistry();
    RegisterCpuKernels(*made);
    return made;
  }();
  return *kernels;
}

}  // namespace tensorfleet
