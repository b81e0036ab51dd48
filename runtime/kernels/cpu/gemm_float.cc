#include "runtime/kernels/cpu/gemm_eigen.h"
#include "runtime/kernels/cpu/onednn.h"

namespace tensorfleet::cpu {
namespace {

// Below this many multiplications oneDNN's calls cost more than they save.
constexpr int64_t kSmallProduct = 16 * 1024;

}  // namespace

template <>
void Gemm<float>(KernelContext* ctx, const GemmShape& shape, const float* a, const float* b,
                 float* c) {
  const SgemmFunction sgemm =
      shape.m * shape.n * shape.k <= kSmallProduct ? nullptr : OneDnnSgemm();
  if (sgemm == nullptr) return EigenGemm<float>(ctx, shape, 1.0 / 60, a, b, c);
  ForGemmBlocks(ctx, shape, 1.0 / 120, [&](const GemmBlock& block) {
    OneDnnSgemm();  // this thread's first call switches OpenMP off
    sgemm(shape.transpose_a ? 'T' : 'N', shape.transpose_b ? 'T' : 'N', block.rows, block.columns,
          shape.k, 1.0f, a + RowOffset(shape, block.row), StrideOfA(shape),
          b + ColumnOffset(shape, block.column), StrideOfB(shape), 0.0f,
          c + block.row * shape.n + block.column, shape.n);
  });
}

}  // namespace tensorfleet::cpu
