// The families of kernels that core.cc and all.cc put together, one line each.
// Included by these alone: a new line here must not compile every family again.
#pragma once

namespace tensorfleet {
class KernelRegistry;
}

namespace tensorfleet::cpu {

void RegisterAccumulatorKernels(KernelRegistry& kernels);
void RegisterActivationGradKernels(KernelRegistry& kernels);
void RegisterAddNKernels(KernelRegistry& kernels);
void RegisterArgExtremeKernels(KernelRegistry& kernels);
void RegisterArithmeticKernels(KernelRegistry& kernels);
void RegisterAvgPoolKernels(KernelRegistry& kernels);
void RegisterBatchNormKernels(KernelRegistry& kernels);
void RegisterBiasKernels(KernelRegistry& kernels);
void RegisterBitwiseKernels(KernelRegistry& kernels);
void RegisterBroadcastArgsKernels(KernelRegistry& kernels);
void RegisterCastKernels(KernelRegistry& kernels);
void RegisterCheckNumericsKernels(KernelRegistry& kernels);
void RegisterLinearAlgebraKernels(KernelRegistry& kernels);
void RegisterLookupKernels(KernelRegistry& kernels);
void RegisterMirrorPadGradKernels(KernelRegistry& kernels);
void RegisterNextAsOptionalKernels(KernelRegistry& kernels);
void RegisterOptionalKernels(KernelRegistry& kernels);
void RegisterCompareKernels(KernelRegistry& kernels);
void RegisterComplexKernels(KernelRegistry& kernels);
void RegisterComplexUnaryKernels(KernelRegistry& kernels);
void RegisterConvGradKernels(KernelRegistry& kernels);
void RegisterConvKernels(KernelRegistry& kernels);
void RegisterCrossEntropyKernels(KernelRegistry& kernels);
void RegisterDepthwiseConvKernels(KernelRegistry& kernels);
void RegisterDiagKernels(KernelRegistry& kernels);
void RegisterDivisionKernels(KernelRegistry& kernels);
void RegisterExtremeKernels(KernelRegistry& kernels);
void RegisterFillKernels(KernelRegistry& kernels);
void RegisterFusedMatMulKernels(KernelRegistry& kernels);
void RegisterGatherKernels(KernelRegistry& kernels);
void RegisterJoinKernels(KernelRegistry& kernels);
void RegisterLrnKernels(KernelRegistry& kernels);
void RegisterMatMulKernels(KernelRegistry& kernels);
void RegisterMathBinaryKernels(KernelRegistry& kernels);
void RegisterMathUnaryKernels(KernelRegistry& kernels);
void RegisterMaxPoolGradKernels(KernelRegistry& kernels);
void RegisterMaxPoolKernels(KernelRegistry& kernels);
void RegisterOptimizerKernels(KernelRegistry& kernels);
void RegisterPadKernels(KernelRegistry& kernels);
void RegisterPartitionKernels(KernelRegistry& kernels);
void RegisterQrKernels(KernelRegistry& kernels);
void RegisterRandomKernels(KernelRegistry& kernels);
void RegisterRefVariableKernels(KernelRegistry& kernels);
void RegisterResourceGatherKernels(KernelRegistry& kernels);
void RegisterResourceVariableKernels(KernelRegistry& kernels);
void RegisterScanKernels(KernelRegistry& kernels);
void RegisterScatterNdKernels(KernelRegistry& kernels);
void RegisterScatterVariableKernels(KernelRegistry& kernels);
void RegisterSearchKernels(KernelRegistry& kernels);
void RegisterSegmentKernels(KernelRegistry& kernels);
void RegisterSelectKernels(KernelRegistry& kernels);
void RegisterSequenceKernels(KernelRegistry& kernels);
void RegisterShapeKernels(KernelRegistry& kernels);
void RegisterSimpleUnaryKernels(KernelRegistry& kernels);
void RegisterSliceKernels(KernelRegistry& kernels);
void RegisterSoftmaxKernels(KernelRegistry& kernels);
void RegisterSpaceKernels(KernelRegistry& kernels);
void RegisterSparseEditKernels(KernelRegistry& kernels);
void RegisterSparseMathKernels(KernelRegistry& kernels);
void RegisterSparseSegmentKernels(KernelRegistry& kernels);
void RegisterSparseToDenseKernels(KernelRegistry& kernels);
void RegisterSplitKernels(KernelRegistry& kernels);
void RegisterStatelessRandomKernels(KernelRegistry& kernels);
void RegisterStridedSliceAssignKernels(KernelRegistry& kernels);
void RegisterStringConvertKernels(KernelRegistry& kernels);
void RegisterStringEditKernels(KernelRegistry& kernels);
void RegisterStringFormatKernels(KernelRegistry& kernels);
void RegisterStringRegexKernels(KernelRegistry& kernels);
void RegisterStringSplitKernels(KernelRegistry& kernels);
void RegisterSumKernels(KernelRegistry& kernels);
void RegisterSummaryKernels(KernelRegistry& kernels);
void RegisterTensorArrayKernels(KernelRegistry& kernels);
void RegisterTensorListConvertKernels(KernelRegistry& kernels);
void RegisterTensorListItemKernels(KernelRegistry& kernels);
void RegisterTopKKernels(KernelRegistry& kernels);
void RegisterTransposeKernels(KernelRegistry& kernels);
void RegisterUniqueKernels(KernelRegistry& kernels);
void RegisterDecodeBytesKernels(KernelRegistry& kernels);
void RegisterDecodeCsvKernels(KernelRegistry& kernels);
void RegisterParseExampleKernels(KernelRegistry& kernels);
void RegisterParseSequenceExampleKernels(KernelRegistry& kernels);
void RegisterTensorBytesKernels(KernelRegistry& kernels);
void RegisterStringNGramsKernels(KernelRegistry& kernels);
void RegisterUnicodeKernels(KernelRegistry& kernels);
void RegisterSparseCrossKernels(KernelRegistry& kernels);
void RegisterSetKernels(KernelRegistry& kernels);
void RegisterWhereKernels(KernelRegistry& kernels);

}  // namespace tensorfleet::cpu
