// Convolutions and their gradients by oneDNN, divided among the device's threads.
#pragma once

#include "runtime/kernels/cpu/nn/conv_plan.h"

namespace tensorfleet::cpu {

// Each returns false when it is not the fastest way, or none, and has then written nothing; the
// caller computes the result itself. No tensor is empty. Errors: ResourceExhausted, Internal.
StatusOr<bool> ConvolveByOneDnn(KernelContext& ctx, const ConvPlan& plan, const float* image,
                                const float* filter, float* out);
StatusOr<bool> ImageGradientByOneDnn(KernelContext& ctx, const ConvPlan& plan, const float* filter,
                                     const float* gradient, float* image);
StatusOr<bool> FilterGradientByOneDnn(KernelContext& ctx, const ConvPlan& plan, const float* image,
                                      const float* gradient, float* filter);

}  // namespace tensorfleet::cpu
