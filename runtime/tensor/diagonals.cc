#include "runtime/tensor/diagonals.h"

#include <algorithm>

namespace tensorfleet {

int64_t DiagonalBand::LengthOf(int64_t k) const {
  return std::max<int64_t>(
      0, std::min(rows + std::min<int64_t>(k, 0), cols - std::max<int64_t>(k, 0)));
}

int64_t DiagonalBand::longest() const {
  return std::max<int64_t>(
      0, std::min(rows + std::min<int64_t>(upper, 0), cols - std::max<int64_t>(lower, 0)));
}

int64_t DiagonalBand::PaddingBefore(int64_t k, DiagonalAlignment align) const {
  // The main diagonal stands on the right only where both kinds do.
  const bool right = (k < 0 || align.superdiagonals_right) && (k > 0 || align.subdiagonals_right);
  return right ? longest() - LengthOf(k) : 0;
}

StatusOr<DiagonalRange> ReadDiagonalRange(const Tensor& k) {
  if (k.dtype() != DType::kInt32 || k.rank() > 1) {
    return InvalidArgument("diag_index must be a scalar or vector, received shape: ",
                           k.shape().ToString());
  }
  const auto values = k.values<int32_t>();
  if (values.size() != 1 && values.size() != 2) {
    return InvalidArgument("diag_index must have only one or two elements, received ",
                           values.size(), " elements.");
  }
  const DiagonalRange range = {values.front(), values.back()};
  if (range.lower > range.upper) {
    return InvalidArgument("lower_diag_index must not be larger than upper_diag_index: ",
                           range.lower, " > ", range.upper);
  }
  return range;
}

StatusOr<DiagonalBand> BandOfMatrix(int64_t rows, int64_t cols, DiagonalRange k) {
  const auto is_inside = [&](int64_t d) { return (-rows < d && d < cols) || d == 0; };
  if (!is_inside(k.lower)) {
    return InvalidArgument("lower_diag_index is out of bound: ", k.lower, ". It must be between ",
                           -rows, " and ", cols);
  }
  if (!is_inside(k.upper)) {
    return InvalidArgument("upper_diag_index is out of bound: ", k.upper, " It must be between ",
                           -rows, " and ", cols);
  }
  return DiagonalBand{k.lower, k.upper, rows, cols};
}

StatusOr<DiagonalBand> BandForDiagonals(const Shape& diagonals, DiagonalRange k, int64_t rows,
                                        int64_t cols) {
  const int64_t count = k.upper - k.lower + 1;
  if (!k.is_single()) {
    if (diagonals.rank() < 2) {
      return InvalidArgument(
          "diagonal must be at least 2-dim when several diagonals are given, "
          "received shape: ",
          diagonals.ToString());
    }
    if (diagonals.dim(-2) != count) {
      return InvalidArgument(
          "The number of diagonals provided in the input does not match the "
          "lower_diag_index and upper_diag_index range: ",
          diagonals.dim(-2), " rows for [", k.lower, ", ", k.upper, "]");
    }
  }
  const int64_t longest = diagonals.dim(-1);
  // What the longest diagonal needs at least.
  const int64_t min_rows = longest - std::min<int64_t>(k.upper, 0);
  const int64_t min_cols = longest + std::max<int64_t>(k.lower, 0);
  if (rows == -1 && cols == -1) {
    rows = cols = std::max(min_rows, min_cols);
  } else if (rows == -1) {
    rows = min_rows;
  } else if (cols == -1) {
    cols = min_cols;
  }
  if (rows < min_rows) return InvalidArgument("The number of rows is too small.");
  if (cols < min_cols) return InvalidArgument("The number of columns is too small.");
  if (rows != min_rows && cols != min_cols) {
    return InvalidArgument(
        "The number of rows or columns is not consistent with the specified "
        "d_lower, d_upper, and diagonal.");
  }
  // Diagonals outside the matrix have no elements; their rows of the packed form are all padding.
  return DiagonalBand{k.lower, k.upper, rows, cols};
}

}  // namespace tensorfleet
