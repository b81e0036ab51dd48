// The families of kernels that all.cc puts together, one line each.
#pragma once

namespace tensorfleet {
class KernelRegistry;
}

namespace tensorfleet::cpu {

void RegisterActivationGradKernels(KernelRegistry& kernels);
void RegisterArithmeticKernels(KernelRegistry& kernels);
void RegisterBitwiseKernels(KernelRegistry& kernels);
void RegisterCompareKernels(KernelRegistry& kernels);
void RegisterComplexUnaryKernels(KernelRegistry& kernels);
void RegisterDivisionKernels(KernelRegistry& kernels);
void RegisterMathBinaryKernels(KernelRegistry& kernels);
void RegisterMathUnaryKernels(KernelRegistry& kernels);
void RegisterSimpleUnaryKernels(KernelRegistry& kernels);

}  // namespace tensorfleet::cpu
