#include "runtime/kernels/cpu/core.h"

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/portable/all.h"

namespace tensorfleet {

void RegisterCoreCpuKernels(KernelRegistry& kernels) {
  RegisterPortableKernels(kernels);
  cpu::RegisterAccumulatorKernels(kernels);
  cpu::RegisterRefVariableKernels(kernels);
  cpu::RegisterResourceVariableKernels(kernels);
  cpu::RegisterSimpleUnaryKernels(kernels);
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
