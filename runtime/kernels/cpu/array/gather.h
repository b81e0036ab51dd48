// Rows of a tensor by their numbers, for Gather and everything like it.
#pragma once

#include <string>

#include "runtime/kernels/kernel_context.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

// params[:axis] + indices[batch_dims:] + params[axis+1:], where entry i along `axis` is taken from
// position indices[..., i]. The first `batch_dims` dimensions of both go together; 0 <= batch_dims
// <= axis < rank, and `indices` is of any integer type. Errors: InvalidArgument `indices[0,1] = 5
// is not in [0, 3)`.
StatusOr<Tensor> GatherAlong(const KernelContext& ctx, const Tensor& params, const Tensor& indices,
                             int axis, int batch_dims);

// Slices params[indices[i, ..., :]], TensorFlow's GatherNd. Errors: InvalidArgument `indices[1] =
// [2, 1] does not index into param shape [2,2], node name: N`.
StatusOr<Tensor> GatherSlices(const KernelContext& ctx, const Tensor& params,
                              const Tensor& indices);

// "[0,1]": the position of flat index `i` in `shape`; "" for a scalar.
std::string PositionText(const Shape& shape, int64_t i);

}  // namespace tensorfleet::cpu
