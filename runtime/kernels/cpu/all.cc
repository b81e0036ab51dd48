#include "runtime/kernels/cpu/all.h"

#include "runtime/data/all.h"
#include "runtime/kernels/cpu/core.h"
#include "runtime/kernels/cpu/families.h"

namespace tensorfleet {

void RegisterCpuKernels(KernelRegistry& kernels) {
  RegisterCoreCpuKernels(kernels);
  RegisterDataKernels(kernels);
  cpu::RegisterActivationGradKernels(kernels);
  cpu::RegisterAddNKernels(kernels);
  cpu::RegisterArgExtremeKernels(kernels);
  cpu::RegisterArithmeticKernels(kernels);
  cpu::RegisterAvgPoolKernels(kernels);
  cpu::RegisterBatchNormKernels(kernels);
  cpu::RegisterBiasKernels(kernels);
  cpu::RegisterBitwiseKernels(kernels);
  cpu::RegisterBroadcastArgsKernels(kernels);
  cpu::RegisterCastKernels(kernels);
  cpu::RegisterCheckNumericsKernels(kernels);
  cpu::RegisterLookupKernels(kernels);
  cpu::RegisterMirrorPadGradKernels(kernels);
  cpu::RegisterNextAsOptionalKernels(kernels);
  cpu::RegisterOptionalKernels(kernels);
  cpu::RegisterCompareKernels(kernels);
  cpu::RegisterComplexKernels(kernels);
  cpu::RegisterComplexUnaryKernels(kernels);
  cpu::RegisterConvGradKernels(kernels);
  cpu::RegisterConvKernels(kernels);
  cpu::RegisterCrossEntropyKernels(kernels);
  cpu::RegisterDepthwiseConvKernels(kernels);
  cpu::RegisterDiagKernels(kernels);
  cpu::RegisterDivisionKernels(kernels);
  cpu::RegisterExtremeKernels(kernels);
  cpu::RegisterFillKernels(kernels);
  cpu::RegisterFusedMatMulKernels(kernels);
  cpu::RegisterGatherKernels(kernels);
  cpu::RegisterJoinKernels(kernels);
  cpu::RegisterLrnKernels(kernels);
  cpu::RegisterMatMulKernels(kernels);
  cpu::RegisterMathBinaryKernels(kernels);
  cpu::RegisterMathUnaryKernels(kernels);
  cpu::RegisterMaxPoolGradKernels(kernels);
  cpu::RegisterMaxPoolKernels(kernels);
  cpu::RegisterOptimizerKernels(kernels);
  cpu::RegisterPadKernels(kernels);
  cpu::RegisterPartitionKernels(kernels);
  cpu::RegisterQrKernels(kernels);
  cpu::RegisterLinearAlgebraKernels(kernels);
  cpu::RegisterSearchKernels(kernels);
  cpu::RegisterRandomKernels(kernels);
  cpu::RegisterResourceGatherKernels(kernels);
  cpu::RegisterScanKernels(kernels);
  cpu::RegisterScatterNdKernels(kernels);
  cpu::RegisterScatterVariableKernels(kernels);
  cpu::RegisterSegmentKernels(kernels);
  cpu::RegisterSelectKernels(kernels);
  cpu::RegisterSequenceKernels(kernels);
  cpu::RegisterShapeKernels(kernels);
  cpu::RegisterSliceKernels(kernels);
  cpu::RegisterSoftmaxKernels(kernels);
  cpu::RegisterSpaceKernels(kernels);
  cpu::RegisterSparseEditKernels(kernels);
  cpu::RegisterFillEmptyRowsKernels(kernels);
  cpu::RegisterSparseMathKernels(kernels);
  cpu::RegisterSparseReduceKernels(kernels);
  cpu::RegisterSparseSplitKernels(kernels);
  cpu::RegisterSparseWithDenseKernels(kernels);
  cpu::RegisterSparseMapKernels(kernels);
  cpu::RegisterSparseSegmentKernels(kernels);
  cpu::RegisterSparseToDenseKernels(kernels);
  cpu::RegisterSplitKernels(kernels);
  cpu::RegisterStatelessRandomKernels(kernels);
  cpu::RegisterStridedSliceAssignKernels(kernels);
  cpu::RegisterStringConvertKernels(kernels);
  cpu::RegisterStringEditKernels(kernels);
  cpu::RegisterStringFormatKernels(kernels);
  cpu::RegisterStringRegexKernels(kernels);
  cpu::RegisterStringSplitKernels(kernels);
  cpu::RegisterSumKernels(kernels);
  cpu::RegisterSummaryKernels(kernels);
  cpu::RegisterTensorArrayKernels(kernels);
  cpu::RegisterTensorListConvertKernels(kernels);
  cpu::RegisterTensorListItemKernels(kernels);
  cpu::RegisterTopKKernels(kernels);
  cpu::RegisterTransposeKernels(kernels);
  cpu::RegisterUniqueKernels(kernels);
  cpu::RegisterDecodeBytesKernels(kernels);
  cpu::RegisterDecodeCsvKernels(kernels);
  cpu::RegisterParseExampleKernels(kernels);
  cpu::RegisterParseSequenceExampleKernels(kernels);
  cpu::RegisterTensorBytesKernels(kernels);
  cpu::RegisterStringNGramsKernels(kernels);
  cpu::RegisterUnicodeKernels(kernels);
  cpu::RegisterSparseCrossKernels(kernels);
  cpu::RegisterRaggedCrossKernels(kernels);
  cpu::RegisterSetKernels(kernels);
  cpu::RegisterWhereKernels(kernels);
  cpu::RegisterSpecialUnaryKernels(kernels);
  cpu::RegisterSpecialBinaryKernels(kernels);
  cpu::RegisterBincountKernels(kernels);
  cpu::RegisterSparseCountKernels(kernels);
  cpu::RegisterOrderKernels(kernels);
  cpu::RegisterDataFormatKernels(kernels);
  cpu::RegisterInplaceKernels(kernels);
  cpu::RegisterSegmentJoinKernels(kernels);
  cpu::RegisterFftKernels(kernels);
  cpu::RegisterSvdKernels(kernels);
  cpu::RegisterEigenvalueKernels(kernels);
  cpu::RegisterTriangularFactorKernels(kernels);
  cpu::RegisterMatrixFunctionKernels(kernels);
  cpu::RegisterCrossKernels(kernels);
  cpu::RegisterSolverKernels(kernels);
  cpu::RegisterEinsumKernels(kernels);
  cpu::RegisterFakeQuantKernels(kernels);
  cpu::RegisterQuantizeDequantizeKernels(kernels);
  cpu::RegisterVolumePoolKernels(kernels);
  cpu::RegisterDilationKernels(kernels);
  cpu::RegisterCandidateSamplerKernels(kernels);
  cpu::RegisterDistributionKernels(kernels);
  cpu::RegisterStatefulRandomKernels(kernels);
  cpu::RegisterCtcKernels(kernels);
  cpu::RegisterEditDistanceKernels(kernels);
  cpu::RegisterLstmKernels(kernels);
  cpu::RegisterGruKernels(kernels);
  cpu::RegisterSerializeSparseKernels(kernels);
  cpu::RegisterRaggedVariantKernels(kernels);
  cpu::RegisterRaggedKernels(kernels);
  cpu::RegisterRaggedToTensorKernels(kernels);
  cpu::RegisterDecodeImageKernels(kernels);
  cpu::RegisterEncodeImageKernels(kernels);
  cpu::RegisterResizeNearestKernels(kernels);
  cpu::RegisterResizeBilinearKernels(kernels);
  cpu::RegisterResizeBicubicKernels(kernels);
  cpu::RegisterResizeAreaKernels(kernels);
  cpu::RegisterScaleTranslateKernels(kernels);
  cpu::RegisterCropAndResizeKernels(kernels);
  cpu::RegisterProjectiveKernels(kernels);
  cpu::RegisterColorKernels(kernels);
  cpu::RegisterDrawBoxesKernels(kernels);
  cpu::RegisterNonMaxSuppressionKernels(kernels);
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
