// The families of gradient functions, one file each.
#pragma once

#include "runtime/client/gradients/registry.h"

namespace tensorfleet {

void RegisterActivationGradients(GradientRegistry& registry);
void RegisterArrayGradients(GradientRegistry& registry);
void RegisterBinaryGradients(GradientRegistry& registry);
void RegisterBranchGradients(GradientRegistry& registry);
void RegisterCallGradients(GradientRegistry& registry);
void RegisterComplexGradients(GradientRegistry& registry);
void RegisterConstantOps(GradientRegistry& registry);
void RegisterConvGradients(GradientRegistry& registry);
void RegisterDiagGradients(GradientRegistry& registry);
void RegisterGatherGradients(GradientRegistry& registry);
void RegisterJoinGradients(GradientRegistry& registry);
void RegisterLinearAlgebraGradients(GradientRegistry& registry);
void RegisterMatMulGradients(GradientRegistry& registry);
void RegisterMissingGradients(GradientRegistry& registry);
void RegisterNnGradients(GradientRegistry& registry);
void RegisterNormalizationGradients(GradientRegistry& registry);
void RegisterNormalizationGradGradients(GradientRegistry& registry);
void RegisterOptionalGradients(GradientRegistry& registry);
void RegisterReductionGradients(GradientRegistry& registry);
void RegisterSegmentGradients(GradientRegistry& registry);
void RegisterSliceGradients(GradientRegistry& registry);
void RegisterSparseGradients(GradientRegistry& registry);
void RegisterTensorArrayGradients(GradientRegistry& registry);
void RegisterTensorListGradients(GradientRegistry& registry);
void RegisterUnaryGradients(GradientRegistry& registry);

}  // namespace tensorfleet
