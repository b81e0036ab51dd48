// What MatMul and its fused form share.
#pragma once

#include "runtime/base/status.h"
#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

// Errors: InvalidArgument for what is no matrix, and `Matrix size-incompatible: In[0]: [2,3],
// In[1]: [2,3]`.
StatusOr<GemmShape> MatMulShape(const Tensor& a, const Tensor& b, bool transpose_a,
                                bool transpose_b);

}  // namespace tensorfleet::cpu
