#include "runtime/ops/shape_rules.h"

#include <algorithm>
#include <vector>

namespace tensorfleet::shapes {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

StatusOr<int64_t> BroadcastDim(int64_t a, int64_t b) {
  if (a == 1) return b;
  if (b == 1) return a;
  if (a == kOpen) return b;
  if (b == kOpen || a == b) return a;
  return InvalidArgument("Dimensions must be equal, but are ", a, " and ", b);
}

// The values of a constant int32 or int64 tensor.
StatusOr<std::vector<int64_t>> AxesOf(const Tensor& axes) {
  if (axes.dtype() == DType::kInt32) {
    return std::vector<int64_t>(axes.values<int32_t>().begin(), axes.values<int32_t>().end());
  }
  if (axes.dtype() == DType::kInt64) {
    return std::vector<int64_t>(axes.values<int64_t>().begin(), axes.values<int64_t>().end());
  }
  return InvalidArgument("reduction axes must be int32 or int64, not ", DTypeName(axes.dtype()));
}

}  // namespace

StatusOr<int64_t> MergeDims(int64_t a, int64_t b) {
  if (a == kOpen) return b;
  if (b == kOpen || a == b) return a;
  return InvalidArgument("Dimensions must be equal, but are ", a, " and ", b);
}

StatusOr<PartialShape> BroadcastPartial(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::Unknown();
  const int rank = std::max(a.rank(), b.rank());
  PartialShape out = PartialShape::UnknownOfRank(rank);
  for (int i = 0; i < rank; ++i) {
    const int in_a = i - (rank - a.rank());
    const int in_b = i - (rank - b.rank());
    const int64_t dim_a = in_a < 0 ? 1 : a.dim(in_a);
    const int64_t dim_b = in_b < 0 ? 1 : b.dim(in_b);
    StatusOr<int64_t> dim = BroadcastDim(dim_a, dim_b);
    if (!dim.ok()) {
      return Suffixed(dim.status(), absl::StrCat(": shapes ", a.ToString(), " and ", b.ToString(),
                                                 " do not broadcast"));
    }
    out.set_dim(i, *dim);
  }
  return out;
}

Status UnknownShapes(ShapeContext&) { return OkStatus(); }

Status ScalarOutputs(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape(Shape()));
  return OkStatus();
}

Status Unchanged(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(0));
  return OkStatus();
}

Status MergeInputs(ShapeContext& ctx) {
  PartialShape merged = ctx.input(0);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(merged, merged.MergedWith(ctx.input(i)));
  }
  ctx.set_output(0, std::move(merged));
  return OkStatus();
}

Status Broadcast(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, BroadcastPartial(ctx.input(0), ctx.input(1)));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status Reduction(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const bool keep_dims, ctx.Attr<bool>("keep_dims"));
  const PartialShape& in = ctx.input(0);
  const Tensor* axes = ctx.constant_input(1);
  if (axes == nullptr || !in.has_rank()) {
    if (keep_dims && in.has_rank()) ctx.set_output(0, PartialShape::UnknownOfRank(in.rank()));
    return OkStatus();
  }
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, AxesOf(*axes));
  std::vector<bool> reduced(in.rank(), false);
  for (const int64_t axis : indices) {
    if (axis < -in.rank() || axis >= in.rank()) {
      return InvalidArgument("Invalid reduction dimension ", axis, " for input with ", in.rank(),
                             " dimensions.");
    }
    reduced[axis < 0 ? axis + in.rank() : axis] = true;
  }
  PartialShape out{Shape()};
  for (int i = 0; i < in.rank(); ++i) {
    if (!reduced[i]) {
      out.AddDim(in.dim(i));
    } else if (keep_dims) {
      out.AddDim(1);
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace tensorfleet::shapes
