// Indices into the rows, or the slices, of a variable: read once, checked, and walked in order, on
// several threads when there is much to do, such that no two threads ever work on the same row.
#pragma once

#include <array>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime/kernels/kernel_context.h"
#include "runtime/kernels/row_loop.h"

namespace tensorfleet {

// Positions of `rows` dealt out such that all of one row are in one shard, in ascending order.
// Positions whose row is negative are left out.
class RowShards {
 public:
  static constexpr int kShards = 16;
  explicit RowShards(absl::Span<const int64_t> rows);
  absl::Span<const int64_t> of(int shard) const {
    return absl::MakeConstSpan(positions_)
        .subspan(begin_[shard], begin_[shard + 1] - begin_[shard]);
  }

 private:
  std::vector<int64_t> positions_;
  std::array<int64_t, kShards + 1> begin_{};
};

// Calls body(i, rows[i]) for every i where rows[i] is not negative; for one row in ascending order
// of i. `cost` of one call in nanoseconds. Some calls before, prefetch(i, rows[i]) may ask for the
// memory that the body will use. Left early, by an exception, when the step is cancelled, unless it
// is `kWhole`: where a variable changes in its place.
template <bool kWhole = false, typename Body, typename Prefetch>
void ForEachRow(const KernelContext& ctx, absl::Span<const int64_t> rows, int64_t cost,
                const Body& body, const Prefetch& prefetch) {
  constexpr int64_t kWorthSharing = 100'000;
  const int64_t size = static_cast<int64_t>(rows.size());
  if (size * cost < kWorthSharing) {
    for (int64_t i = 0; i < size; ++i) {
      const int64_t later = i + kRowsAhead;
      if (later < size && rows[later] >= 0) prefetch(later, rows[later]);
      if (rows[i] >= 0) body(i, rows[i]);
    }
    return;
  }
  const RowShards shards(rows);
  const auto run = [&](int64_t begin, int64_t end) {
    LoopWatch watch(ctx, cost);
    for (int64_t shard = begin; shard < end; ++shard) {
      const absl::Span<const int64_t> of = shards.of(static_cast<int>(shard));
      for (size_t n = 0; n < of.size(); ++n) {
        const size_t later = n + kRowsAhead;
        if (later < of.size()) prefetch(of[later], rows[of[later]]);
        if constexpr (!kWhole) watch.Pass();
        body(of[n], rows[of[n]]);
      }
    }
  };
  ParallelForWhole(ctx, RowShards::kShards, size * cost / RowShards::kShards, run);
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
  template <typename Body, typename Prefetch>
  void ForEach(const KernelContext& ctx, int64_t cost, const Body& body,
               const Prefetch& prefetch) const {
    ForEachRow</*kWhole=*/true>(ctx, rows_, cost, body, prefetch);
  }

 private:
  absl::InlinedVector<int64_t, 16> rows_;
};

}  // namespace tensorfleet
