#include "runtime/kernels/portable/all.h"

#include "runtime/kernels/portable/families.h"

namespace tensorfleet {

void RegisterPortableKernels(KernelRegistry& kernels) {
  portable::RegisterCheckpointKernels(kernels);
  portable::RegisterCollectiveKernels(kernels);
  portable::RegisterConstantKernels(kernels);
  portable::RegisterControlFlowKernels(kernels);
  portable::RegisterFileKernels(kernels);
  portable::RegisterFunctionalKernels(kernels);
  portable::RegisterIdentityKernels(kernels);
  portable::RegisterLoggingKernels(kernels);
  portable::RegisterMapStageKernels(kernels);
  portable::RegisterPartSavingKernels(kernels);
  portable::RegisterQueueKernels(kernels);
  portable::RegisterReaderKernels(kernels);
  portable::RegisterRestoreKernels(kernels);
  portable::RegisterSaveKernels(kernels);
  portable::RegisterStackKernels(kernels);
  portable::RegisterStageKernels(kernels);
  portable::RegisterTransferKernels(kernels);
  portable::RegisterWhileKernels(kernels);
}

}  // namespace tensorfleet
