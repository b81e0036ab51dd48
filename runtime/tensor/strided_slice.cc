#include "runtime/tensor/strided_slice.h"

#include <algorithm>

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;
constexpr int kMaxEntries = 32;  // what the masks can speak of

bool Bit(int64_t mask, int i) { return (mask >> i) & 1; }

// What an entry of the specification does to the result.
enum class Kind { kAxis, kNewAxis, kShrink };

// An entry after the ellipsis has been spelled out.
struct Entry {
  Kind kind;
  int sparse = -1;  // its number in the specification; -1 for an axis that is taken whole
};

// Spells out the ellipsis (there is always one, at the end unless given).
StatusOr<absl::InlinedVector<Entry, 8>> Expand(int rank, int count,
                                               const StridedSliceMasks& masks) {
  int ellipsis = count;
  int consuming = 0;  // entries that stand for an axis of the input
  for (int i = 0; i < count; ++i) {
    if (Bit(masks.ellipsis, i)) {
      if (ellipsis != count) {
        return InvalidArgument("Multiple ellipses in slice spec not allowed");
      }
      ellipsis = i;
    } else if (!Bit(masks.new_axis, i)) {
      ++consuming;
    }
  }
  absl::InlinedVector<Entry, 8> entries;
  int axis = 0;
  const auto spell_out = [&] {
    for (int whole = rank - consuming; whole > 0; --whole, ++axis) entries.push_back({Kind::kAxis});
  };
  for (int i = 0; i < count; ++i) {
    if (i == ellipsis) {
      spell_out();
    } else if (Bit(masks.new_axis, i)) {
      entries.push_back({Kind::kNewAxis, i});
    } else {
      if (rank == 0) return InvalidArgument("Attempting to slice scalar input.");
      if (axis == rank) {
        return InvalidArgument("Index out of range using input dim ", axis, "; input has only ",
                               rank, " dims");
      }
      ++axis;
      entries.push_back({Bit(masks.shrink, i) ? Kind::kShrink : Kind::kAxis, i});
    }
  }
  if (ellipsis == count) spell_out();
  return entries;
}

int64_t Clamp(int64_t value, int64_t dim, int64_t low, int64_t high) {
  // `value` may be anything: adding only to negative ones cannot overflow.
  const int64_t forward = value < 0 ? value + dim : value;
  return std::min(std::max(forward, low), high);
}

// Walks `dim` elements by one entry of the specification. Sizes that depend on what is not known
// stay open.
StatusOr<StridedSliceAxis> Walk(const StridedSliceSpec& spec, const Entry& entry, int axis,
                                int64_t dim) {
  if (entry.sparse < 0) return StridedSliceAxis{0, 1, dim};
  const int i = entry.sparse;
  const int64_t stride = spec.strides[i];
  if (stride == 0) return InvalidArgument("strides[", i, "] must be non-zero");
  const bool shrinks = entry.kind == Kind::kShrink;
  if (shrinks && stride < 0) {
    return InvalidArgument("only stride 1 allowed on non-range indexing.");
  }
  const bool from_start = Bit(spec.masks.begin, i) && !shrinks;
  const bool to_end = Bit(spec.masks.end, i) && !shrinks;
  StridedSliceAxis walk{0, stride, kOpen};
  if (shrinks) {
    walk.size = 1;
    walk.stride = 1;
    if (!spec.begin || dim == kOpen) return walk;
    const int64_t index = (*spec.begin)[i];
    walk.begin = index < 0 ? index + dim : index;
    if (walk.begin < 0 || walk.begin >= dim) {
      return InvalidArgument("slice index ", index, " of dimension ", axis, " out of bounds.");
    }
    return walk;
  }
  if (dim == kOpen) {
    // Even then some sizes are plain: x[2:5] of unknown length is not one of them, x[:] stays open.
    return walk;
  }
  if ((!from_start && !spec.begin) || (!to_end && !spec.end)) {
    if (dim == 0) walk.size = 0;
    return walk;
  }
  const int64_t low = stride > 0 ? 0 : -1;
  const int64_t high = stride > 0 ? dim : dim - 1;
  walk.begin = from_start ? (stride > 0 ? low : high) : Clamp((*spec.begin)[i], dim, low, high);
  const int64_t end = to_end ? (stride > 0 ? high : low) : Clamp((*spec.end)[i], dim, low, high);
  const int64_t length = end - walk.begin;
  if (length == 0 || (length < 0) != (stride < 0)) {
    walk.size = 0;
  } else {
    walk.size = length / stride + (length % stride != 0 ? 1 : 0);
  }
  return walk;
}

}  // namespace

StatusOr<StridedSlicePlan> PlanStridedSlice(const PartialShape& input,
                                            const StridedSliceSpec& spec) {
  const int count = static_cast<int>(spec.strides.size());
  if (count > kMaxEntries || (spec.begin && spec.begin->size() != spec.strides.size()) ||
      (spec.end && spec.end->size() != spec.strides.size())) {
    return InvalidArgument(
        "Expected begin, end, and strides to be 1D equal size tensors of at most ", kMaxEntries,
        " elements, but the sizes are ", spec.begin ? spec.begin->size() : spec.strides.size(),
        ", ", spec.end ? spec.end->size() : spec.strides.size(), " and ", count);
  }
  TFLEET_ASSIGN_OR_RETURN(const auto entries, Expand(input.rank(), count, spec.masks));
  StridedSlicePlan plan;
  plan.result = PartialShape(Shape());
  plan.is_whole = true;
  plan.is_rows = true;
  for (const Entry& entry : entries) {
    if (entry.kind == Kind::kNewAxis) {
      plan.result.AddDim(1);
      continue;
    }
    const int axis = static_cast<int>(plan.axes.size());
    const int64_t dim = input.dim(axis);
    TFLEET_ASSIGN_OR_RETURN(const StridedSliceAxis walk, Walk(spec, entry, axis, dim));
    plan.axes.push_back(walk);
    if (entry.kind == Kind::kAxis) plan.result.AddDim(walk.size);
    const bool whole = walk.begin == 0 && walk.stride == 1 && walk.size == dim && dim != kOpen;
    plan.is_whole &= whole;
    plan.is_rows &= axis == 0 ? walk.stride == 1 : whole;
  }
  return plan;
}

}  // namespace tensorfleet
