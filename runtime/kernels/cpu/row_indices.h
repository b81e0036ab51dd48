// Indices into the rows, or the slices, of a variable: read once, checked, and walked in order, on
// several threads when there is much to do, such that no two threads ever work on the same row.
#pragma once

#include "absl/container/inlined_vector.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

// Calls body(i, rows[i]) for every i where rows[i] is not negative; for one row in ascending order
// of i. `cost` of one call in nanoseconds.
template <typename Body>
void ForEachRow(const KernelContext& ctx, absl::Span<const int64_t> rows, int64_t cost,
                const Body& body) {
  constexpr int64_t kShards = 16, kWorthSharing = 50'000;
  const int64_t size = static_cast<int64_t>(rows.size());
  if (size * cost < kWorthSharing) {
    for (int64_t i = 0; i < size; ++i) {
      if (rows[i] >= 0) body(i, rows[i]);
    }
    return;
  }
  ParallelFor(ctx, kShards, size * cost / kShards, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < size; ++i) {
      const int64_t shard = rows[i] % kShards;
      if (rows[i] >= 0 && shard >= begin && shard < end) body(i, rows[i]);
    }
  });
}

class RowIndices {
 public:
  // Reads int32 or int64 `indices` of any shape.
  // Errors: InvalidArgument `indices[3] = 7 is not in [0, 5)` (in many dimensions `indices[0,3]`).
  static StatusOr<RowIndices> Read(const Tensor& indices, int64_t num_rows);

  // Reads `indices` of shape [..., depth] as tuples that name slices of a tensor of shape `params`,
  // whose first `depth` dimensions are counted through as one. Errors: InvalidArgument `indices[1]
  // = [1, 7] does not index into shape [3,2]`.
  static StatusOr<RowIndices> ReadTuples(const Tensor& indices, const Shape& params);

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  int64_t operator[](int64_t i) const { return rows_[i]; }

  // Makes index j of batch b (`per_batch` indices each) count from row b * `rows_per_batch`.
  void OffsetByBatch(int64_t per_batch, int64_t rows_per_batch) {
    for (int64_t i = 0; i < size(); ++i) rows_[i] += i / per_batch * rows_per_batch;
  }

  // Calls body(i, rows[i]) for every i, as ForEachRow does.
  template <typename Body>
  void ForEach(const KernelContext& ctx, int64_t cost, const Body& body) const {
    ForEachRow(ctx, rows_, cost, body);
  }

 private:
  absl::InlinedVector<int64_t, 16> rows_;
};

}  // namespace tensorfleet::cpu
