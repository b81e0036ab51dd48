// Work on the matrices in the last two dimensions of tensors, one after another or many at a time.
#pragma once

#include <Eigen/Core>

#include "runtime/base/mutex.h"
#include "runtime/kernels/cpu/linalg/gemm_eigen.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet::cpu {

template <typename T>
using ConstMatrixMap = Eigen::Map<const GemmMatrix<T>>;
template <typename T>
using MatrixMap = Eigen::Map<GemmMatrix<T>>;

// How many matrices a tensor holds.
inline int64_t CountMatrices(const Tensor& tensor) {
  int64_t count = 1;
  for (int i = 0; i + 2 < tensor.rank(); ++i) count *= tensor.dim(i);
  return count;
}

inline Status CheckMatrices(const Tensor& in, int number = 0) {
  if (in.rank() >= 2) return OkStatus();
  return InvalidArgument("Input tensor ", number, " must have rank >= 2, got ", in.rank());
}

inline Status CheckSquareMatrices(const Tensor& in, int number = 0) {
  TFLEET_RETURN_IF_ERROR(CheckMatrices(in, number));
  if (in.dim(-1) == in.dim(-2)) return OkStatus();
  return InvalidArgument("Input matrices must be squares, got ", in.dim(-2), " != ", in.dim(-1));
}

// The shape of a tensor of matrices with `tail` in place of the last two dimensions.
inline StatusOr<Shape> WithMatrixShape(const Tensor& in, std::initializer_list<int64_t> tail) {
  return in.shape().SubShape(0, in.rank() - 2).Concatenated(tail);
}

// Runs body(i), a Status, for each of `count` matrices on the device's threads. Errors: one of
// those that body gave.
template <typename Body>
Status ForEachMatrix(const KernelContext& ctx, int64_t count, int64_t cost, const Body& body) {
  Mutex mu;
  Status first;
  ParallelFor(ctx, count, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Status status = body(i);
      if (status.ok()) continue;
      MutexLock lock(&mu);
      if (first.ok()) first = status;
      return;
    }
  });
  return first;
}

// The cost of a decomposition of m by n, in nanoseconds.
inline int64_t CubicCost(int64_t m, int64_t n) { return 1 + m * n * std::min(m, n) / 2; }

}  // namespace tensorfleet::cpu
