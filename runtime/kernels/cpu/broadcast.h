// How operands broadcast against each other, NumPy style: the result's shape, and the fewest
// dimensions under which every operand either runs along or stands still.
#pragma once

#include <array>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "runtime/base/status.h"
#include "runtime/tensor/shape.h"

namespace tensorfleet::cpu {

// The shape that `a` and `b` broadcast to. Errors: InvalidArgument `Incompatible shapes: [2] vs.
// [3]`.
StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

// Neighbouring dimensions that all operands treat alike are merged. Strides count elements; 0
// repeats.
template <int kOperands>
struct BroadcastPlan {
  absl::InlinedVector<int64_t, 4> dims;  // of the result, outermost first; never empty
  std::array<absl::InlinedVector<int64_t, 4>, kOperands> strides;

  // Length of the innermost run, and how many of them there are.
  int64_t inner() const { return dims.back(); }
  int64_t outer() const;

  // Calls run(first element of the result, offsets of the operands) for the innermost runs [begin,
  // end).
  template <typename Run>
  void ForRuns(int64_t begin, int64_t end, const Run& run) const;
};

// `out` must be what the operands broadcast to.
template <int kOperands>
BroadcastPlan<kOperands> PlanBroadcast(const Shape& out,
                                       const std::array<const Shape*, kOperands>& operands);

template <int kOperands>
template <typename Run>
void BroadcastPlan<kOperands>::ForRuns(int64_t begin, int64_t end, const Run& run) const {
  const int outer_rank = static_cast<int>(dims.size()) - 1;
  absl::InlinedVector<int64_t, 4> index(outer_rank, 0);
  std::array<int64_t, kOperands> offsets{};
  int64_t rest = begin;
  for (int d = outer_rank - 1; d >= 0; --d) {
    index[d] = rest % dims[d];
    rest /= dims[d];
    for (int k = 0; k < kOperands; ++k) offsets[k] += index[d] * strides[k][d];
  }
  for (int64_t i = begin; i < end; ++i) {
    run(i * inner(), offsets);
    for (int d = outer_rank - 1; d >= 0; --d) {
      for (int k = 0; k < kOperands; ++k) offsets[k] += strides[k][d];
      if (++index[d] < dims[d]) break;
      for (int k = 0; k < kOperands; ++k) offsets[k] -= dims[d] * strides[k][d];
      index[d] = 0;
    }
  }
}

}  // namespace tensorfleet::cpu
