#include "runtime/data/all.h"

#include "runtime/data/families.h"

namespace tensorfleet {

void RegisterDataKernels(KernelRegistry& kernels) {
  data::RegisterBatchKernels(kernels);
  data::RegisterConcatenateKernels(kernels);
  data::RegisterDirectedInterleaveKernels(kernels);
  data::RegisterFileSourceKernels(kernels);
  data::RegisterFilterKernels(kernels);
  data::RegisterFlatMapKernels(kernels);
  data::RegisterGroupKernels(kernels);
  data::RegisterIteratorKernels(kernels);
  data::RegisterMapKernels(kernels);
  data::RegisterMemoryCacheKernels(kernels);
  data::RegisterNextKernels(kernels);
  data::RegisterOneShotKernels(kernels);
  data::RegisterPaddedBatchKernels(kernels);
  data::RegisterParallelInterleaveKernels(kernels);
  data::RegisterParallelMapKernels(kernels);
  data::RegisterPassOnKernels(kernels);
  data::RegisterPrefetchKernels(kernels);
  data::RegisterRandomNumbersKernels(kernels);
  data::RegisterRangeKernels(kernels);
  data::RegisterRebatchKernels(kernels);
  data::RegisterReduceKernels(kernels);
  data::RegisterRepeatKernels(kernels);
  data::RegisterSaveKernels(kernels);
  data::RegisterScanKernels(kernels);
  data::RegisterSelectingKernels(kernels);
  data::RegisterSharedStateKernels(kernels);
  data::RegisterShuffleKernels(kernels);
  data::RegisterSkipKernels(kernels);
  data::RegisterTakeKernels(kernels);
  data::RegisterTensorSourceKernels(kernels);
  data::RegisterUnbatchKernels(kernels);
  data::RegisterWindowKernels(kernels);
  data::RegisterZipKernels(kernels);
}

}  // namespace tensorfleet
