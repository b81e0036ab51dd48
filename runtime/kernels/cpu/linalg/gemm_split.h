// Cutting a matrix product into pieces for threads: blocks of the result, each a product of its
// own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

struct GemmBlock {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// Calls multiply(block) for blocks that cover the result. `ns_per_flop` says what one costs.
template <typename Multiply>
void ForGemmBlocks(KernelContext* ctx, const GemmShape& shape, double ns_per_flop,
                   const Multiply& multiply) {
  const double total_ns = 2.0 * shape.m * shape.n * shape.k * ns_per_flop;
  constexpr double kWorthAThread = 20000;
  const int64_t threads = ctx == nullptr ? 1 : ctx->pool().num_threads();
  // A second piece for each thread evens out big products; small ones are not cut finer than they
  // bear.
  const int64_t wanted = total_ns > 100 * kWorthAThread ? 2 * threads : threads;
  // So long may a piece take: a cancellation is noticed between two.
  constexpr double kLongest = 50e6;
  const double most = std::min(std::max<double>(wanted, total_ns / kLongest), 1e6);
  const int64_t pieces = static_cast<int64_t>(std::min(most, total_ns / kWorthAThread));
  if (pieces < 2 || ctx == nullptr || (threads == 1 && total_ns < kLongest)) {
    multiply(GemmBlock{0, shape.m, 0, shape.n});
    return;
  }
  // Blocks as square as the pieces allow, in multiples of what inner kernels compute at once.
  constexpr int64_t kAlign = 16;
  int64_t row_pieces = 1, column_pieces = 1;
  while (row_pieces * column_pieces < pieces) {
    if (shape.m / row_pieces >= shape.n / column_pieces)
      ++row_pieces;
    else
      ++column_pieces;
  }
  const auto piece_size = [](int64_t size, int64_t pieces) {
    return ((size + pieces - 1) / pieces + kAlign - 1) / kAlign * kAlign;
  };
  const int64_t rows = piece_size(shape.m, row_pieces),
                columns = piece_size(shape.n, column_pieces);
  row_pieces = (shape.m + rows - 1) / rows;
  column_pieces = (shape.n + columns - 1) / columns;
  const int64_t count = row_pieces * column_pieces;
  ParallelFor(*ctx, count, static_cast<int64_t>(total_ns / count), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / column_pieces * rows, column = i % column_pieces * columns;
      multiply(GemmBlock{row, std::min(rows, shape.m - row), column,
                         std::min(columns, shape.n - column)});
    }
  });
}

// Where op(a)'s row `row`, and op(b)'s column `column`, begin; and the distance of rows in memory.
inline int64_t RowOffset(const GemmShape& s, int64_t row) {
  return s.transpose_a ? row : row * s.k;
}
inline int64_t ColumnOffset(const GemmShape& s, int64_t column) {
  return s.transpose_b ? column * s.k : column;
}
inline int64_t StrideOfA(const GemmShape& s) { return s.transpose_a ? s.m : s.k; }
inline int64_t StrideOfB(const GemmShape& s) { return s.transpose_b ? s.k : s.n; }

}  // namespace tensorfleet::cpu
