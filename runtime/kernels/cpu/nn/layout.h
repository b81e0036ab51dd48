// Images with the channels before the spaces (NCHW), for kernels that compute with the channels
// last.
#pragma once

#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

// [batch, channels, spaces...] as [batch, spaces..., channels], and back. The rank is at least 2;
// data is plain. Errors: ResourceExhausted.
StatusOr<Tensor> ChannelsToLast(const KernelContext& ctx, const Tensor& image);
StatusOr<Tensor> ChannelsToFirst(const KernelContext& ctx, const Tensor& image);

// The shapes of the same.
Shape ShapeWithChannelsLast(const Shape& shape);
Shape ShapeWithChannelsFirst(const Shape& shape);

}  // namespace tensorfleet::cpu
