#include "runtime/kernels/cpu/all.h"

#include "runtime/kernels/cpu/families.h"

namespace tensorfleet {

void RegisterCpuKernels(KernelRegistry& kernels) {
  cpu::RegisterActivationGradKernels(kernels);
  cpu::RegisterArithmeticKernels(kernels);
  cpu::RegisterBitwiseKernels(kernels);
  cpu::RegisterCompareKernels(kernels);
  cpu::RegisterComplexUnaryKernels(kernels);
  cpu::RegisterDivisionKernels(kernels);
  cpu::RegisterMathBinaryKernels(kernels);
  cpu::RegisterMathUnaryKernels(kernels);
  cpu::RegisterSimpleUnaryKernels(kernels);
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
