#include "runtime/kernels/cpu/all.h"

#include "runtime/kernels/cpu/families.h"

namespace tensorfleet {

void RegisterCpuKernels(KernelRegistry& kernels) {
  cpu::RegisterActivationGradKernels(kernels);
  cpu::RegisterAddNKernels(kernels);
  cpu::RegisterArithmeticKernels(kernels);
  cpu::RegisterBitwiseKernels(kernels);
  cpu::RegisterBroadcastArgsKernels(kernels);
  cpu::RegisterCastKernels(kernels);
  cpu::RegisterCompareKernels(kernels);
  cpu::RegisterComplexKernels(kernels);
  cpu::RegisterComplexUnaryKernels(kernels);
  cpu::RegisterControlFlowKernels(kernels);
  cpu::RegisterDivisionKernels(kernels);
  cpu::RegisterExtremeKernels(kernels);
  cpu::RegisterFunctionalKernels(kernels);
  cpu::RegisterMathBinaryKernels(kernels);
  cpu::RegisterMathUnaryKernels(kernels);
  cpu::RegisterOptimizerKernels(kernels);
  cpu::RegisterRefVariableKernels(kernels);
  cpu::RegisterResourceGatherKernels(kernels);
  cpu::RegisterResourceVariableKernels(kernels);
  cpu::RegisterScatterVariableKernels(kernels);
  cpu::RegisterSelectKernels(kernels);
  cpu::RegisterSimpleUnaryKernels(kernels);
  cpu::RegisterSumKernels(kernels);
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
