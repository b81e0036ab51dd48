// The families of kernels that all.cc puts together, one line each.
// Included by it and by tests alone: a new line here must not compile every family again.
#pragma once

namespace tensorfleet {
class KernelRegistry;
}

namespace tensorfleet::portable {

void RegisterCheckpointKernels(KernelRegistry& kernels);
void RegisterCollectiveKernels(KernelRegistry& kernels);
void RegisterConstantKernels(KernelRegistry& kernels);
void RegisterControlFlowKernels(KernelRegistry& kernels);
void RegisterFileKernels(KernelRegistry& kernels);
void RegisterFunctionalKernels(KernelRegistry& kernels);
void RegisterIdentityKernels(KernelRegistry& kernels);
void RegisterLoggingKernels(KernelRegistry& kernels);
void RegisterMapStageKernels(KernelRegistry& kernels);
void RegisterPartSavingKernels(KernelRegistry& kernels);
void RegisterQueueKernels(KernelRegistry& kernels);
void RegisterReaderKernels(KernelRegistry& kernels);
void RegisterRestoreKernels(KernelRegistry& kernels);
void RegisterSaveKernels(KernelRegistry& kernels);
void RegisterStackKernels(KernelRegistry& kernels);
void RegisterStageKernels(KernelRegistry& kernels);
void RegisterTransferKernels(KernelRegistry& kernels);
void RegisterWhileKernels(KernelRegistry& kernels);

}  // namespace tensorfleet::portable
