// What `x[begin:end:stride, ..., i, newaxis]` means for a given shape: shared by the shape rules
// and kernels of StridedSlice, its gradient, and assignment to slices.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/tensor/shape.h"

namespace tensorfleet {

// Bit i of a mask speaks of entry i of the specification.
struct StridedSliceMasks {
  int64_t begin = 0;     // begin[i] is left out: from the first element in walking direction
  int64_t end = 0;       // end[i] is left out: to the last one, inclusive
  int64_t ellipsis = 0;  // entry i stands for as many whole axes as needed; at most one bit
  int64_t new_axis = 0;  // entry i is a new axis of size 1
  int64_t shrink = 0;    // entry i is an index: its axis falls away
};

struct StridedSliceSpec {
  // Absent when not known yet (in shape inference).
  std::optional<absl::Span<const int64_t>> begin;
  std::optional<absl::Span<const int64_t>> end;
  absl::Span<const int64_t> strides;
  StridedSliceMasks masks;
};

// One axis of the input that is walked: element `begin`, then every `stride`-th, `size` of them.
struct StridedSliceAxis {
  int64_t begin = 0;
  int64_t stride = 1;
  int64_t size = PartialShape::kUnknownDim;
};

struct StridedSlicePlan {
  absl::InlinedVector<StridedSliceAxis, 4> axes;  // one per axis of the input
  PartialShape result;                            // with shrunk axes gone and new ones in place
  // The result is the input, possibly under another shape.
  bool is_whole = false;
  // All axes but the first are whole, and the first is walked with stride 1.
  bool is_rows = false;
};

// `input` may have unknown dimensions, but must have a rank. Errors: InvalidArgument for a zero
// stride, too many entries, an index out of bounds, more than one ellipsis; texts are TensorFlow's.
StatusOr<StridedSlicePlan> PlanStridedSlice(const PartialShape& input,
                                            const StridedSliceSpec& spec);

}  // namespace tensorfleet
