#include "runtime/pjrt/lower/indices.h"

#include <algorithm>
#include <limits>

namespace tensorfleet::pjrt {
namespace {

// Sizes of dimensions as a vector of the indices' type, repeated for each tuple. A size that the
// type cannot hold is no limit.
StatusOr<Hlo> Limits(HloBuilder& b, const Hlo& indices, Dims limits) {
  Tensor sizes;
  if (indices.dtype == DType::kInt64) {
    sizes = Tensor::Vector<int64_t>(limits);
  } else {
    std::vector<int32_t> narrow;
    for (const int64_t limit : limits) {
      narrow.push_back(
          static_cast<int32_t>(std::min<int64_t>(limit, std::numeric_limits<int32_t>::max())));
    }
    sizes = Tensor::Vector<int32_t>(narrow);
  }
  TFLEET_ASSIGN_OR_RETURN(const Hlo vector, b.Constant(sizes));
  return b.Broadcast(vector, indices.shape, {indices.shape.rank() - 1});
}

// Whether all are inside; the values are known.
bool AreInside(const std::vector<int64_t>& values, Dims limits) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= limits[i % limits.size()]) return false;
  }
  return true;
}

}  // namespace

StatusOr<Hlo> CheckedIndices(LoweringContext& ctx, int i, Dims limits, bool are_rows) {
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(i);
  Hlo indices = ctx.input(i);
  if (dtype == DType::kInt16 || dtype == DType::kUInt16) {
    indices = b.Convert(indices, DType::kInt32);
  } else if (dtype != DType::kInt32 && dtype != DType::kInt64) {
    return Unimplemented("indices of type ", DTypeName(dtype));
  }
  if (are_rows) {
    TFLEET_ASSIGN_OR_RETURN(const Shape one, Shape::Make({1}));
    TFLEET_ASSIGN_OR_RETURN(const Shape tuples, indices.shape.Concatenated(one));
    indices = b.Reshape(indices, tuples);
  }
  if (limits.empty() || indices.shape.num_elements() == 0) return indices;
  if (const StatusOr<std::vector<int64_t>> known = ctx.ConstantInts(i); known.ok()) {
    if (!AreInside(*known, limits)) return Unimplemented("an index that is outside");
    return indices;
  }
  TFLEET_ASSIGN_OR_RETURN(const Hlo limit, Limits(b, indices, limits));
  const Hlo below = b.Compare("LT", indices, b.Full(indices.dtype, indices.shape, 0));
  ctx.faults().Add(b.Binary("or", below, b.Compare("GE", indices, limit)));
  return indices;
}

Hlo GuardedIndices(LoweringContext& ctx, const Hlo& indices) {
  HloBuilder& b = ctx.hlo();
  return b.Select(b.BroadcastTo(ctx.faults().Any(), indices.shape),
                  b.Full(indices.dtype, indices.shape, -1), indices);
}

// Sorted, equal ones are neighbours.
void RefuseRepeated(LoweringContext& ctx, const Hlo& indices, Dims limits) {
  HloBuilder& b = ctx.hlo();
  const int64_t depth = indices.shape.dim(-1), count = indices.shape.num_elements() / depth;
  if (count < 2) return;
  Hlo flat = b.Convert(indices, DType::kInt64);
  // Each tuple as the number of its slice.
  std::vector<int64_t> strides(depth, 1);
  for (int64_t d = depth - 1; d > 0; --d) strides[d - 1] = strides[d] * limits[d];
  if (depth > 1) {
    const Hlo stride = b.Constant(Tensor::Vector<int64_t>(strides)).value();
    flat = b.Mul(flat, b.Broadcast(stride, flat.shape, {flat.shape.rank() - 1}));
    flat = b.Reduce("add", flat, b.Scalar(DType::kInt64, 0), {flat.shape.rank() - 1});
  }
  const Hlo sorted = b.Sort({b.Reshape(flat, Shape::Make({count}).value())}, 0, "LT")[0];
  const Hlo first = b.Slice(sorted, {0}, {count - 1}, {1});
  const Hlo second = b.Slice(sorted, {1}, {count}, {1});
  ctx.faults().Add(b.Compare("EQ", first, second));
}

}  // namespace tensorfleet::pjrt
