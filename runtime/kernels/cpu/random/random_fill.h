// Distributions over a Philox sequence, bit for bit those of TensorFlow's CPU kernels. Which block
// an element comes from depends on its position alone, so threads may share the work.
#pragma once

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/kernels/kernel_context.h"
#include "runtime/kernels/philox.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

// [0, 1) from the low bits of a word (two words for a double).
float UnitFloat(uint32_t word);
double UnitDouble(uint32_t high, uint32_t low);

// Two independent normal numbers from two uniform ones (Box and Muller), of two or four words.
void NormalPair(const uint32_t* words, float* pair);
void NormalPair(const uint32_t* words, double* pair);

// `out` is half, bfloat16, float or double.
void FillUniform(const KernelContext& ctx, Philox from, Tensor* out);
void FillNormal(const KernelContext& ctx, Philox from, Tensor* out);
// Normal, values of 2 and more drawn again.
void FillTruncatedNormal(const KernelContext& ctx, Philox from, Tensor* out);

// `out` is int32 or int64; values in [low, high), low < high.
void FillUniformInt(const KernelContext& ctx, Philox from, int64_t low, int64_t high, Tensor* out);
// `out` is int32, uint32, int64 or uint64; every value.
void FillFullInt(const KernelContext& ctx, Philox from, Tensor* out);

// How many blocks a stateful op steps over when it has drawn `elements` outputs.
inline uint64_t ReservedBlocks(int64_t elements) { return static_cast<uint64_t>(elements) * 256; }

}  // namespace tensorfleet::cpu
