// Bands of diagonals of a matrix and the packed form in which ops carry them: one row per diagonal,
// from the uppermost down, each padded to the length of the longest. Shared by shape rules and
// kernels.
#pragma once

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/tensor/shape.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

// Diagonal 0 is the main one, positive numbers lie above it.
struct DiagonalRange {
  int64_t lower = 0;
  int64_t upper = 0;
  bool is_single() const { return lower == upper; }
};

// On which side a diagonal that is shorter than the longest one stands in its packed row.
struct DiagonalAlignment {
  bool superdiagonals_right = false;
  bool subdiagonals_right = false;
};

// Diagonals [lower, upper] of a rows x cols matrix.
struct DiagonalBand {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t rows = 0;
  int64_t cols = 0;

  int64_t count() const { return upper - lower + 1; }
  int64_t longest() const;
  int64_t LengthOf(int64_t k) const;
  // How many places of the packed row of diagonal `k` come before its first element.
  int64_t PaddingBefore(int64_t k, DiagonalAlignment align) const;
};

// An int32 scalar, or vector of one (both ends) or two (lower, upper). Errors: InvalidArgument.
StatusOr<DiagonalRange> ReadDiagonalRange(const Tensor& k);

// Errors: InvalidArgument when a diagonal lies outside the matrix.
StatusOr<DiagonalBand> BandOfMatrix(int64_t rows, int64_t cols, DiagonalRange k);

// The matrix that packed diagonals of this shape make; -1 for rows or columns that the diagonals
// decide. Errors: InvalidArgument when they do not fit.
StatusOr<DiagonalBand> BandForDiagonals(const Shape& diagonals, DiagonalRange k, int64_t rows,
                                        int64_t cols);

}  // namespace tensorfleet
