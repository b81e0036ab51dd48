#include "runtime/kernels/cpu/linalg/gemm_eigen.h"
#include "runtime/kernels/cpu/linalg/onednn.h"

namespace tensorfleet::cpu {
namespace {

// Below this many multiplications oneDNN's calls cost more than they save.
constexpr int64_t kSmallProduct = 16 * 1024;

}  // namespace

template <>
void Gemm<float>(KernelContext* ctx, const GemmShape& shape, const float* a, const float* b,
                 float* c) {
  const bool is_small = shape.m * shape.n * shape.k <= kSmallProduct;
  if (is_small || LoadedOneDnn() == nullptr) return EigenGemm<float>(ctx, shape, 1.0 / 60, a, b, c);
  ForGemmBlocks(ctx, shape, 1.0 / 120, [&](const GemmBlock& block) {
    LoadedOneDnn()->sgemm(shape.transpose_a ? 'T' : 'N', shape.transpose_b ? 'T' : 'N', block.rows,
                          block.columns, shape.k, 1.0f, a + RowOffset(shape, block.row),
                          StrideOfA(shape), b + ColumnOffset(shape, block.column), StrideOfB(shape),
                          0.0f, c + block.row * shape.n + block.column, shape.n);
  });
}

}  // namespace tensorfleet::cpu
