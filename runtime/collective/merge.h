// Arithmetic of collectives, on whole pieces of tensors.
#pragma once

#include "runtime/base/status.h"
#include "runtime/kernels/collectives.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::collective {

// Errors: Unimplemented, naming the type.
Status CheckCanMerge(DType dtype);
// out[i] = merge(a[i], b[i]) for n elements; out may be a or b.
void Merge(MergeOp merge, DType dtype, const void* a, const void* b, void* out, int64_t n);
// x[i] = x[i] / group_size where `final` says so. Integers are cut off.
void Finish(FinalOp final, DType dtype, void* x, int64_t n, int group_size);

}  // namespace tensorfleet::collective
