// The families of kernels that all.cc puts together, one line each.
#pragma once

namespace tensorfleet {
class KernelRegistry;
}

namespace tensorfleet::data {

void RegisterBatchKernels(KernelRegistry& kernels);
void RegisterConcatenateKernels(KernelRegistry& kernels);
void RegisterDirectedInterleaveKernels(KernelRegistry& kernels);
void RegisterFileSourceKernels(KernelRegistry& kernels);
void RegisterFilterKernels(KernelRegistry& kernels);
void RegisterFlatMapKernels(KernelRegistry& kernels);
void RegisterGroupKernels(KernelRegistry& kernels);
void RegisterIteratorKernels(KernelRegistry& kernels);
void RegisterMapKernels(KernelRegistry& kernels);
void RegisterMemoryCacheKernels(KernelRegistry& kernels);
void RegisterNextKernels(KernelRegistry& kernels);
void RegisterOneShotKernels(KernelRegistry& kernels);
void RegisterPaddedBatchKernels(KernelRegistry& kernels);
void RegisterParallelInterleaveKernels(KernelRegistry& kernels);
void RegisterParallelMapKernels(KernelRegistry& kernels);
void RegisterPassOnKernels(KernelRegistry& kernels);
void RegisterPrefetchKernels(KernelRegistry& kernels);
void RegisterRandomNumbersKernels(KernelRegistry& kernels);
void RegisterRangeKernels(KernelRegistry& kernels);
void RegisterRebatchKernels(KernelRegistry& kernels);
void RegisterReduceKernels(KernelRegistry& kernels);
void RegisterRepeatKernels(KernelRegistry& kernels);
void RegisterScanKernels(KernelRegistry& kernels);
void RegisterSelectingKernels(KernelRegistry& kernels);
void RegisterSharedStateKernels(KernelRegistry& kernels);
void RegisterSaveKernels(KernelRegistry& kernels);
void RegisterShuffleKernels(KernelRegistry& kernels);
void RegisterSkipKernels(KernelRegistry& kernels);
void RegisterTakeKernels(KernelRegistry& kernels);
void RegisterTensorSourceKernels(KernelRegistry& kernels);
void RegisterUnbatchKernels(KernelRegistry& kernels);
void RegisterWindowKernels(KernelRegistry& kernels);
void RegisterZipKernels(KernelRegistry& kernels);

}  // namespace tensorfleet::data
