// The families of kernels that all.cc puts together, one line each.
#pragma once

namespace tensorfleet {
class KernelRegistry;
}

namespace tensorfleet::cpu {

void RegisterControlFlowKernels(KernelRegistry& kernels);
void RegisterFunctionalKernels(KernelRegistry& kernels);
void RegisterSimpleUnaryKernels(KernelRegistry& kernels);
void RegisterTransferKernels(KernelRegistry& kernels);
void RegisterWhileKernels(KernelRegistry& kernels);

}  // namespace tensorfleet::cpu
