// The loops behind AssignAdd and AssignSub, in both forms.
#pragma once

#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

// out[i] = old[i] + value[i] (or -) over n elements; `out` may be `old`.
using SumLoopFn = void (*)(const void* old, const void* value, void* out, int64_t n);

// Null for a type that is no number.
SumLoopFn SumLoop(DType dtype, bool subtract);

// Runs `loop` where it is, or on the device's threads when there is much to do.
void RunSumLoop(const KernelContext& ctx, SumLoopFn loop, const void* old, const void* value,
                void* out, int64_t n, DType dtype);

}  // namespace tensorfleet::cpu
