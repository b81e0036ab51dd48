// Ops that cut tensors and put frames around them, at places known when the cluster is compiled.
#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"
#include "runtime/tensor/strided_slice.h"

namespace tensorfleet::pjrt {
namespace {

Hlo SliceAlong(LoweringContext& ctx, const Hlo& x, int axis, int64_t begin, int64_t end) {
  std::vector<int64_t> start(x.shape.rank(), 0), stride(x.shape.rank(), 1);
  std::vector<int64_t> limit(x.shape.dims().begin(), x.shape.dims().end());
  start[axis] = begin;
  limit[axis] = end;
  return ctx.hlo().Slice(x, start, limit, stride);
}

Status Slice(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> begin, ctx.ConstantInts(1));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> size, ctx.ConstantInts(2));
  const Shape& shape = ctx.shape(0);
  const size_t rank = shape.rank();
  if (begin.size() != rank || size.size() != rank) return Unimplemented("another rank");
  std::vector<int64_t> limit(rank), stride(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t n = shape.dim(static_cast<int>(i));
    if (begin[i] < 0 || begin[i] > n) return Unimplemented("a box outside");
    limit[i] = size[i] == -1 ? n : begin[i] + size[i];
    if (limit[i] < begin[i] || limit[i] > n) return Unimplemented("a box outside");
  }
  ctx.Set(0, ctx.hlo().Slice(ctx.input(0), begin, limit, stride));
  return OkStatus();
}

StatusOr<StridedSlicePlan> PlanOf(LoweringContext& ctx, const Shape& shape, int first) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> begin, ctx.ConstantInts(first));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> end, ctx.ConstantInts(first + 1));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ctx.ConstantInts(first + 2));
  StridedSliceSpec spec;
  spec.begin = begin;
  spec.end = end;
  spec.strides = strides;
  TFLEET_ASSIGN_OR_RETURN(spec.masks.begin, ctx.Attr<int64_t>("begin_mask"));
  TFLEET_ASSIGN_OR_RETURN(spec.masks.end, ctx.Attr<int64_t>("end_mask"));
  TFLEET_ASSIGN_OR_RETURN(spec.masks.ellipsis, ctx.Attr<int64_t>("ellipsis_mask"));
  TFLEET_ASSIGN_OR_RETURN(spec.masks.new_axis, ctx.Attr<int64_t>("new_axis_mask"));
  TFLEET_ASSIGN_OR_RETURN(spec.masks.shrink, ctx.Attr<int64_t>("shrink_axis_mask"));
  StatusOr<StridedSlicePlan> plan = PlanStridedSlice(shape, spec);
  // The op's own kernel says what is wrong.
  if (!plan.ok()) return Unimplemented(plan.status().message());
  return plan;
}

// Axes that are walked backwards are reversed first (and back, in the gradient).
Status StridedSlice(LoweringContext& ctx) {
  const Shape& shape = ctx.shape(0);
  TFLEET_ASSIGN_OR_RETURN(const StridedSlicePlan plan, PlanOf(ctx, shape, 1));
  TFLEET_ASSIGN_OR_RETURN(const Shape result, plan.result.ToShape());
  std::vector<int64_t> reversed, start, limit, stride;
  for (int i = 0; i < shape.rank(); ++i) {
    const StridedSliceAxis& axis = plan.axes[i];
    const bool backwards = axis.stride < 0;
    if (backwards) reversed.push_back(i);
    const int64_t begin = axis.size == 0 ? 0
                          : backwards    ? shape.dim(i) - 1 - axis.begin
                                         : axis.begin;
    const int64_t step = backwards ? -axis.stride : axis.stride;
    start.push_back(begin);
    stride.push_back(step);
    limit.push_back(axis.size == 0 ? 0 : begin + (axis.size - 1) * step + 1);
  }
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Reshape(b.Slice(b.Reverse(ctx.input(0), reversed), start, limit, stride), result));
  return OkStatus();
}

Status StridedSliceGrad(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ctx.ConstantInts(0));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  TFLEET_ASSIGN_OR_RETURN(const StridedSlicePlan plan, PlanOf(ctx, shape, 1));
  TFLEET_ASSIGN_OR_RETURN(const Shape result, plan.result.ToShape());
  if (ctx.shape(4) != result) return Unimplemented("a gradient of another shape");
  HloBuilder& b = ctx.hlo();
  std::vector<int64_t> reversed, walked;
  std::vector<PadAxis> padding;
  for (int i = 0; i < shape.rank(); ++i) {
    const StridedSliceAxis& axis = plan.axes[i];
    walked.push_back(axis.size);
    PadAxis pad;
    if (axis.size == 0) {
      pad.high = shape.dim(i);
    } else {
      const bool backwards = axis.stride < 0;
      if (backwards) reversed.push_back(i);
      pad.low = backwards ? shape.dim(i) - 1 - axis.begin : axis.begin;
      pad.interior = (backwards ? -axis.stride : axis.stride) - 1;
      pad.high = shape.dim(i) - pad.low - ((axis.size - 1) * (pad.interior + 1) + 1);
    }
    padding.push_back(pad);
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape whole, Shape::Make(walked));
  const Hlo dy = b.Reshape(ctx.input(4), whole);
  ctx.Set(0, b.Reverse(b.Pad(dy, b.Scalar(dy.dtype, 0), padding), reversed));
  return OkStatus();
}

Status Split(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.ConstantInts(0));
  if (given.size() != 1) return Unimplemented("an axis that is no scalar");
  TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(given[0], ctx.shape(1).rank()));
  const int count = ctx.node().num_outputs();
  const int64_t size = ctx.shape(1).dim(axis);
  if (size % count != 0) return Unimplemented("parts of different sizes");
  for (int i = 0; i < count; ++i) {
    ctx.Set(i, SliceAlong(ctx, ctx.input(1), axis, i * (size / count), (i + 1) * (size / count)));
  }
  return OkStatus();
}

Status SplitV(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, ctx.ConstantInts(1));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.ConstantInts(2));
  if (given.size() != 1) return Unimplemented("an axis that is no scalar");
  TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(given[0], ctx.shape(0).rank()));
  const int64_t whole = ctx.shape(0).dim(axis);
  int64_t known = 0, at = 0;
  int open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 && open >= 0) return Unimplemented("two open sizes");
    if (sizes[i] < 0) open = static_cast<int>(i);
    if (sizes[i] >= 0) known += sizes[i];
  }
  if (open >= 0) sizes[open] = whole - known;
  if (known > whole || (open < 0 && known != whole)) return Unimplemented("sizes that do not fit");
  for (size_t i = 0; i < sizes.size(); ++i) {
    ctx.Set(static_cast<int>(i), SliceAlong(ctx, ctx.input(0), axis, at, at + sizes[i]));
    at += sizes[i];
  }
  return OkStatus();
}

Status Unpack(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t given, ctx.Attr<int64_t>("axis"));
  TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(given, ctx.shape(0).rank()));
  const int count = ctx.node().num_outputs();
  if (ctx.shape(0).dim(axis) != count) return Unimplemented("another number of parts");
  std::vector<int64_t> dims(ctx.shape(0).dims().begin(), ctx.shape(0).dims().end());
  dims.erase(dims.begin() + axis);
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  for (int i = 0; i < count; ++i) {
    ctx.Set(i, ctx.hlo().Reshape(SliceAlong(ctx, ctx.input(0), axis, i, i + 1), shape));
  }
  return OkStatus();
}

Status PadWith(LoweringContext& ctx, const Hlo& value) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> paddings, ctx.ConstantInts(1));
  const size_t rank = ctx.shape(0).rank();
  if (paddings.size() != 2 * rank) return Unimplemented("paddings of another rank");
  std::vector<PadAxis> axes(rank);
  for (size_t i = 0; i < rank; ++i) {
    axes[i].low = paddings[2 * i];
    axes[i].high = paddings[2 * i + 1];
    if (axes[i].low < 0 || axes[i].high < 0) return Unimplemented("negative padding");
  }
  ctx.Set(0, ctx.hlo().Pad(ctx.input(0), value, axes));
  return OkStatus();
}

Status Pad(LoweringContext& ctx) { return PadWith(ctx, ctx.hlo().Scalar(ctx.dtype(0), 0)); }

Status PadV2(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Hlo value, ctx.ScalarInput(2));
  return PadWith(ctx, value);
}

Status ReverseV2(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(std::vector<int64_t> axes, ctx.ConstantInts(1));
  std::vector<bool> seen(ctx.shape(0).rank());
  for (int64_t& axis : axes) {
    TFLEET_ASSIGN_OR_RETURN(const int checked, CheckedAxis(axis, ctx.shape(0).rank()));
    if (seen[checked]) return Unimplemented("an axis that is given twice");
    seen[checked] = true;
    axis = checked;
  }
  ctx.Set(0, ctx.hlo().Reverse(ctx.input(0), axes));
  return OkStatus();
}

}  // namespace

void AddSliceLowerings(LoweringRegistry& r) {
  const std::pair<const char*, Lowering> kOps[] = {{"Slice", Slice},
                                                   {"StridedSlice", StridedSlice},
                                                   {"StridedSliceGrad", StridedSliceGrad},
                                                   {"Split", Split},
                                                   {"SplitV", SplitV},
                                                   {"Unpack", Unpack},
                                                   {"Pad", Pad},
                                                   {"PadV2", PadV2},
                                                   {"ReverseV2", ReverseV2}};
  for (const auto& [op, lower] : kOps) r.Add(op, lower, {{"T", AllTypes()}}).is_light = true;
}

}  // namespace tensorfleet::pjrt
