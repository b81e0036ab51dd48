// Matrix products by Eigen, for the types that oneDNN does not multiply and for matrices too small
// for it.
#pragma once

#include <Eigen/Core>

#include "runtime/kernels/cpu/linalg/gemm_split.h"

namespace tensorfleet::cpu {

template <typename T>
using GemmMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using ConstGemmMap = Eigen::Map<const GemmMatrix<T>, 0, Eigen::OuterStride<>>;

// One block of the product. `conjugate` is taken at run time only for complex types.
template <typename T>
void EigenGemmBlock(const GemmShape& s, const GemmBlock& block, const T* a, const T* b, T* c) {
  Eigen::Map<GemmMatrix<T>, 0, Eigen::OuterStride<>> to(
      c + block.row * s.n + block.column, block.rows, block.columns, Eigen::OuterStride<>(s.n));
  const T* first = a + RowOffset(s, block.row);
  const T* second = b + ColumnOffset(s, block.column);
  const auto with_b = [&](const auto& left) {
    if (s.transpose_b) {
      const ConstGemmMap<T> right(second, block.columns, s.k, Eigen::OuterStride<>(StrideOfB(s)));
      if constexpr (Eigen::NumTraits<T>::IsComplex) {
        if (s.conjugate_b) {
          to.noalias() = left * right.adjoint();
          return;
        }
      }
      to.noalias() = left * right.transpose();
    } else {
      const ConstGemmMap<T> right(second, s.k, block.columns, Eigen::OuterStride<>(StrideOfB(s)));
      to.noalias() = left * right;
    }
  };
  if (s.transpose_a) {
    const ConstGemmMap<T> left(first, s.k, block.rows, Eigen::OuterStride<>(StrideOfA(s)));
    if constexpr (Eigen::NumTraits<T>::IsComplex) {
      if (s.conjugate_a) return with_b(left.adjoint());
    }
    with_b(left.transpose());
  } else {
    const ConstGemmMap<T> left(first, block.rows, s.k, Eigen::OuterStride<>(StrideOfA(s)));
    with_b(left);
  }
}

template <typename T>
void EigenGemm(KernelContext* ctx, const GemmShape& shape, double ns_per_flop, const T* a,
               const T* b, T* c) {
  if (shape.k == 0) {
    std::fill(c, c + shape.m * shape.n, T(0));
    return;
  }
  ForGemmBlocks(ctx, shape, ns_per_flop,
                [&](const GemmBlock& block) { EigenGemmBlock<T>(shape, block, a, b, c); });
}

}  // namespace tensorfleet::cpu
