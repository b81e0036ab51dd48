// The families of kernels that all.cc puts together, one line each.
// Included by all.cc alone: a new line here must not compile every family again.
#pragma once

namespace tensorfleet {
class KernelRegistry;
}

namespace tensorfleet::cpu {

void RegisterActivationGradKernels(KernelRegistry& kernels);
void RegisterAddNKernels(KernelRegistry& kernels);
void RegisterArithmeticKernels(KernelRegistry& kernels);
void RegisterBitwiseKernels(KernelRegistry& kernels);
void RegisterBroadcastArgsKernels(KernelRegistry& kernels);
void RegisterCastKernels(KernelRegistry& kernels);
void RegisterCompareKernels(KernelRegistry& kernels);
void RegisterComplexKernels(KernelRegistry& kernels);
void RegisterComplexUnaryKernels(KernelRegistry& kernels);
void RegisterControlFlowKernels(KernelRegistry& kernels);
void RegisterDivisionKernels(KernelRegistry& kernels);
void RegisterExtremeKernels(KernelRegistry& kernels);
void RegisterFunctionalKernels(KernelRegistry& kernels);
void RegisterMathBinaryKernels(KernelRegistry& kernels);
void RegisterMathUnaryKernels(KernelRegistry& kernels);
void RegisterOptimizerKernels(KernelRegistry& kernels);
void RegisterRefVariableKernels(KernelRegistry& kernels);
void RegisterResourceGatherKernels(KernelRegistry& kernels);
void RegisterResourceVariableKernels(KernelRegistry& kernels);
void RegisterScatterVariableKernels(KernelRegistry& kernels);
void RegisterSelectKernels(KernelRegistry& kernels);
void RegisterSimpleUnaryKernels(KernelRegistry& kernels);
void RegisterSumKernels(KernelRegistry& kernels);
void RegisterTransferKernels(KernelRegistry& kernels);
void RegisterWhileKernels(KernelRegistry& kernels);

}  // namespace tensorfleet::cpu
