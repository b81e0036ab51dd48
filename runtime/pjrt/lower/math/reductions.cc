// Reductions over axes that are known when the cluster is compiled.
#include <algorithm>

#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

struct Axes {
  std::vector<int64_t> reduced;
  Shape result;       // without, or with, the reduced ones as 1
  int64_t count = 1;  // elements that become one
};

StatusOr<Axes> AxesOf(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.ConstantInts(1));
  const Shape& shape = ctx.shape(0);
  std::vector<bool> is_reduced(shape.rank());
  for (const int64_t axis : given) {
    TFLEET_ASSIGN_OR_RETURN(const int checked, CheckedAxis(axis, shape.rank()));
    if (is_reduced[checked]) return Unimplemented("an axis that is given twice");
    is_reduced[checked] = true;
  }
  Axes axes;
  std::vector<int64_t> dims;
  const bool keeps = ctx.BoolAttr("keep_dims");
  for (int i = 0; i < shape.rank(); ++i) {
    if (is_reduced[i]) {
      axes.reduced.push_back(i);
      axes.count *= shape.dim(i);
    }
    if (!is_reduced[i] || keeps) dims.push_back(is_reduced[i] ? 1 : shape.dim(i));
  }
  TFLEET_ASSIGN_OR_RETURN(axes.result, Shape::Make(dims));
  return axes;
}

Status Reduce(LoweringContext& ctx, const char* opcode, double initial, bool is_mean = false) {
  TFLEET_ASSIGN_OR_RETURN(const Axes axes, AxesOf(ctx));
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  Hlo result = b.Reduce(opcode, x, b.Scalar(x.dtype, initial), axes.reduced);
  if (is_mean) {
    result = b.Div(result, b.Full(x.dtype, result.shape, static_cast<double>(axes.count)));
  }
  ctx.Set(0, b.Reshape(b.Convert(result, dtype), axes.result));
  return OkStatus();
}

// The root of the sum of squares.
Status EuclideanNorm(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Axes axes, AxesOf(ctx));
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  const Hlo sum = b.Reduce("add", b.Mul(x, x), b.Scalar(x.dtype, 0), axes.reduced);
  ctx.Set(0, b.Reshape(b.Convert(b.Unary("sqrt", sum), dtype), axes.result));
  return OkStatus();
}

Status Sum(LoweringContext& ctx) { return Reduce(ctx, "add", 0); }
Status Prod(LoweringContext& ctx) { return Reduce(ctx, "multiply", 1); }
Status Mean(LoweringContext& ctx) { return Reduce(ctx, "add", 0, /*is_mean=*/true); }
Status All(LoweringContext& ctx) { return Reduce(ctx, "and", 1); }
Status Any(LoweringContext& ctx) { return Reduce(ctx, "or", 0); }

Status Extreme(LoweringContext& ctx, const char* opcode, const Hlo& initial) {
  TFLEET_ASSIGN_OR_RETURN(const Axes axes, AxesOf(ctx));
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Reshape(b.Reduce(opcode, ctx.input(0), initial, axes.reduced), axes.result));
  return OkStatus();
}
Status Max(LoweringContext& ctx) { return Extreme(ctx, "maximum", ctx.hlo().Lowest(ctx.dtype(0))); }
Status Min(LoweringContext& ctx) {
  return Extreme(ctx, "minimum", ctx.hlo().Highest(ctx.dtype(0)));
}

// The first of the largest (smallest): its position is the smallest among those that are equal to
// the extreme. NaN is never equal: left to the lowering's caller as position 0.
Status ArgExtreme(LoweringContext& ctx, const char* opcode, const Hlo& initial) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> axis, ctx.ConstantInts(1));
  if (axis.size() != 1) return Unimplemented("an axis that is no scalar");
  TFLEET_ASSIGN_OR_RETURN(const int checked, CheckedAxis(axis[0], ctx.shape(0).rank()));
  const int64_t size = ctx.shape(0).dim(checked);
  if (size == 0) return Unimplemented("an empty axis");
  TFLEET_ASSIGN_OR_RETURN(const DType type, ctx.Attr<DType>("output_type"));
  HloBuilder& b = ctx.hlo();
  const Hlo x = ctx.input(0);
  const Hlo extreme = b.Reduce(opcode, x, initial, {checked});
  std::vector<int64_t> kept;
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (i != checked) kept.push_back(i);
  }
  const Hlo is_extreme = b.Compare("EQ", x, b.Broadcast(extreme, x.shape, kept));
  const Hlo position = b.Iota(DType::kInt32, x.shape, checked);
  const Hlo candidates =
      b.Select(is_extreme, position, b.Full(DType::kInt32, x.shape, static_cast<double>(size)));
  const Hlo first = b.Reduce("minimum", candidates,
                             b.Scalar(DType::kInt32, static_cast<double>(size)), {checked});
  const Hlo none = b.Full(DType::kInt32, first.shape, static_cast<double>(size));
  const Hlo found =
      b.Select(b.Compare("EQ", first, none), b.Full(DType::kInt32, first.shape, 0), first);
  ctx.Set(0, b.Convert(found, type));
  return OkStatus();
}

Status ArgMax(LoweringContext& ctx) {
  return ArgExtreme(ctx, "maximum", ctx.hlo().Lowest(ctx.dtype(0)));
}
Status ArgMin(LoweringContext& ctx) {
  return ArgExtreme(ctx, "minimum", ctx.hlo().Highest(ctx.dtype(0)));
}

}  // namespace

void AddReductionLowerings(LoweringRegistry& r) {
  for (const auto& [op, lower] : {std::pair<const char*, Lowering>{"Sum", Sum}, {"Prod", Prod}}) {
    r.Add(op, lower, {{"T", NumberTypes()}});
  }
  r.Add("Mean", Mean, {{"T", FloatAndComplexTypes()}});
  r.Add("EuclideanNorm", EuclideanNorm, {{"T", FloatTypes()}});
  r.Add("Max", Max, {{"T", RealTypes()}});
  r.Add("Min", Min, {{"T", RealTypes()}});
  r.Add("All", All);
  r.Add("Any", Any);
  r.Add("ArgMax", ArgMax, {{"T", RealTypes()}, {"output_type", IndexTypes()}});
  r.Add("ArgMin", ArgMin, {{"T", RealTypes()}, {"output_type", IndexTypes()}});
}

}  // namespace tensorfleet::pjrt
