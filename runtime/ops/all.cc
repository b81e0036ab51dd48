#include "runtime/ops/all.h"

#include "runtime/ops/families.h"

namespace tensorfleet {

void RegisterAllOps(OpRegistry& ops) {
  RegisterAccumulatorOps(ops);
  RegisterBasicOps(ops);
  RegisterBinaryOps(ops);
  RegisterCheckpointOps(ops);
  RegisterCollectiveOps(ops);
  RegisterComplexOps(ops);
  RegisterControlFlowOps(ops);
  RegisterConvOps(ops);
  RegisterDataGroupingOps(ops);
  RegisterImageFileOps(ops);
  RegisterImageOps(ops);
  RegisterResizeOps(ops);
  RegisterSparseSerialOps(ops);
  RegisterDataIteratorOps(ops);
  RegisterDataParallelOps(ops);
  RegisterDataPassOnOps(ops);
  RegisterDataSharedOps(ops);
  RegisterDataSourceOps(ops);
  RegisterDataTransformOps(ops);
  RegisterDiagOps(ops);
  RegisterFileOps(ops);
  RegisterFillOps(ops);
  RegisterFunctionalOps(ops);
  RegisterGatherOps(ops);
  RegisterJoinOps(ops);
  RegisterLookupOps(ops);
  RegisterMatMulOps(ops);
  RegisterLinearAlgebraOps(ops);
  RegisterSearchOps(ops);
  RegisterNnOps(ops);
  RegisterNormalizationOps(ops);
  RegisterPoolOps(ops);
  RegisterQueueOps(ops);
  RegisterRandomOps(ops);
  RegisterRearrangeOps(ops);
  RegisterReductionOps(ops);
  RegisterSegmentOps(ops);
  RegisterSelectionOps(ops);
  RegisterShapeOps(ops);
  RegisterSliceOps(ops);
  RegisterSpaceOps(ops);
  RegisterSparseOps(ops);
  RegisterSparsePairOps(ops);
  RegisterSparseMapOps(ops);
  RegisterStackOps(ops);
  RegisterStringOps(ops);
  RegisterSummaryOps(ops);
  RegisterTensorArrayOps(ops);
  RegisterTensorListOps(ops);
  RegisterTrainingOps(ops);
  RegisterTransferOps(ops);
  RegisterUnaryOps(ops);
  RegisterVariableOps(ops);
  RegisterVariableUpdateOps(ops);
  RegisterSetOps(ops);
  RegisterSparseCrossOps(ops);
  RegisterStagingOps(ops);
  RegisterReaderOps(ops);
  RegisterUnicodeOps(ops);
  RegisterDecodeOps(ops);
  RegisterParseExampleOps(ops);
  RegisterSpecialOps(ops);
  RegisterCountingOps(ops);
  RegisterInplaceOps(ops);
  RegisterSegmentJoinOps(ops);
  RegisterFftOps(ops);
  RegisterDecompositionOps(ops);
  RegisterSolverOps(ops);
  RegisterEinsumOps(ops);
  RegisterQuantizeOps(ops);
  RegisterVolumeOps(ops);
  RegisterSamplerOps(ops);
  RegisterDistributionOps(ops);
  RegisterCtcOps(ops);
  RegisterRecurrentOps(ops);
}

const OpRegistry& BuiltinOps() {
  static const OpRegistry* const ops = [] {
    auto* made = new OpRegistry();
    RegisterAllOps(*made);
    return made;
  }();
  return *ops;
}

}  // namespace tensorfleet
