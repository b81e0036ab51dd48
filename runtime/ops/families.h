// The families of ops that all.cc puts together, one line each.
// Included by all.cc alone: a new line here must not compile every family again.
#pragma once

namespace tensorfleet {

class OpRegistry;

void RegisterAccumulatorOps(OpRegistry& ops);
void RegisterBasicOps(OpRegistry& ops);
void RegisterBinaryOps(OpRegistry& ops);
void RegisterCheckpointOps(OpRegistry& ops);
void RegisterCollectiveOps(OpRegistry& ops);
void RegisterComplexOps(OpRegistry& ops);
void RegisterControlFlowOps(OpRegistry& ops);
void RegisterConvOps(OpRegistry& ops);
void RegisterImageFileOps(OpRegistry& ops);
void RegisterImageOps(OpRegistry& ops);
void RegisterResizeOps(OpRegistry& ops);
void RegisterSparseSerialOps(OpRegistry& ops);
void RegisterDataGroupingOps(OpRegistry& ops);
void RegisterDataIteratorOps(OpRegistry& ops);
void RegisterDataParallelOps(OpRegistry& ops);
void RegisterDataPassOnOps(OpRegistry& ops);
void RegisterDataSharedOps(OpRegistry& ops);
void RegisterDataSourceOps(OpRegistry& ops);
void RegisterDataTransformOps(OpRegistry& ops);
void RegisterDecodeOps(OpRegistry& ops);
void RegisterDiagOps(OpRegistry& ops);
void RegisterFileOps(OpRegistry& ops);
void RegisterFillOps(OpRegistry& ops);
void RegisterFunctionalOps(OpRegistry& ops);
void RegisterGatherOps(OpRegistry& ops);
void RegisterJoinOps(OpRegistry& ops);
void RegisterLinearAlgebraOps(OpRegistry& ops);
void RegisterLookupOps(OpRegistry& ops);
void RegisterMatMulOps(OpRegistry& ops);
void RegisterNnOps(OpRegistry& ops);
void RegisterNormalizationOps(OpRegistry& ops);
void RegisterParseExampleOps(OpRegistry& ops);
void RegisterPoolOps(OpRegistry& ops);
void RegisterQueueOps(OpRegistry& ops);
void RegisterRandomOps(OpRegistry& ops);
void RegisterReaderOps(OpRegistry& ops);
void RegisterRearrangeOps(OpRegistry& ops);
void RegisterReductionOps(OpRegistry& ops);
void RegisterSearchOps(OpRegistry& ops);
void RegisterSegmentOps(OpRegistry& ops);
void RegisterSelectionOps(OpRegistry& ops);
void RegisterSetOps(OpRegistry& ops);
void RegisterShapeOps(OpRegistry& ops);
void RegisterSliceOps(OpRegistry& ops);
void RegisterSpaceOps(OpRegistry& ops);
void RegisterSparseCrossOps(OpRegistry& ops);
void RegisterSparseOps(OpRegistry& ops);
void RegisterSparsePairOps(OpRegistry& ops);
void RegisterSparseMapOps(OpRegistry& ops);
void RegisterStackOps(OpRegistry& ops);
void RegisterStagingOps(OpRegistry& ops);
void RegisterStringOps(OpRegistry& ops);
void RegisterSummaryOps(OpRegistry& ops);
void RegisterTensorArrayOps(OpRegistry& ops);
void RegisterTensorListOps(OpRegistry& ops);
void RegisterTrainingOps(OpRegistry& ops);
void RegisterTransferOps(OpRegistry& ops);
void RegisterUnaryOps(OpRegistry& ops);
void RegisterUnicodeOps(OpRegistry& ops);
void RegisterVariableOps(OpRegistry& ops);
void RegisterVariableUpdateOps(OpRegistry& ops);
void RegisterSpecialOps(OpRegistry& ops);
void RegisterCountingOps(OpRegistry& ops);
void RegisterInplaceOps(OpRegistry& ops);
void RegisterSegmentJoinOps(OpRegistry& ops);
void RegisterFftOps(OpRegistry& ops);
void RegisterDecompositionOps(OpRegistry& ops);
void RegisterSolverOps(OpRegistry& ops);
void RegisterEinsumOps(OpRegistry& ops);
void RegisterQuantizeOps(OpRegistry& ops);
void RegisterVolumeOps(OpRegistry& ops);
void RegisterSamplerOps(OpRegistry& ops);
void RegisterDistributionOps(OpRegistry& ops);
void RegisterCtcOps(OpRegistry& ops);
void RegisterRecurrentOps(OpRegistry& ops);

}  // namespace tensorfleet
