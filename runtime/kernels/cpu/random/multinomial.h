// Drawing classes by unnormalised log-probabilities, for Multinomial and its stateless form.
#pragma once

#include "runtime/kernels/kernel_context.h"
#include "runtime/kernels/philox.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

// The number of samples asked for. Errors: InvalidArgument for inputs of the wrong shape.
StatusOr<int64_t> CheckMultinomial(const Tensor& logits, const Tensor& num_samples);

// [batch, samples] class numbers of type `dtype` (int32 or int64), bit for bit TensorFlow's.
StatusOr<Tensor> SampleMultinomial(const KernelContext& ctx, Philox from, const Tensor& logits,
                                   int64_t samples, DType dtype);

}  // namespace tensorfleet::cpu
