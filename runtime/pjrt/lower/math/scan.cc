// Running sums and products along an axis, the largest of a row, and norms.
#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// Everything moved by `steps` along `axis`, away from its beginning; what is not there is
// `missing`.
Hlo Shifted(HloBuilder& b, const Hlo& x, int axis, int64_t steps, const Hlo& missing) {
  std::vector<PadAxis> padding(x.shape.rank());
  padding[axis] = {steps, -steps, 0};
  return b.Pad(x, missing, padding);
}

// After k rounds each element holds 2^k of those up to it.
Status Scan(LoweringContext& ctx, const char* opcode, double neutral) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.ConstantInts(1));
  if (given.size() != 1 || ctx.shape(1).rank() != 0) return Unimplemented("an axis of that shape");
  TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(given[0], ctx.shape(0).rank()));
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  const Hlo missing = b.Scalar(x.dtype, neutral);
  const bool is_reversed = ctx.BoolAttr("reverse");
  const int64_t size = x.shape.dim(axis);
  if (is_reversed) x = b.Reverse(x, {axis});
  if (size > 0 && ctx.BoolAttr("exclusive")) x = Shifted(b, x, axis, 1, missing);
  for (int64_t steps = 1; steps < size; steps *= 2) {
    x = b.Binary(opcode, x, Shifted(b, x, axis, steps, missing));
  }
  if (is_reversed) x = b.Reverse(x, {axis});
  ctx.Set(0, b.Convert(x, dtype));
  return OkStatus();
}

Status Cumsum(LoweringContext& ctx) { return Scan(ctx, "add", 0); }
Status Cumprod(LoweringContext& ctx) { return Scan(ctx, "multiply", 1); }

// Whole numbers in the order of x; NaN comes before everything, and -0 equals 0.
Hlo OrderKey(HloBuilder& b, const Hlo& x) {
  if (!IsFloating(x.dtype)) return x;
  Hlo value = b.Convert(x, AccumulatorType(x.dtype));
  const Hlo zero = b.Full(value.dtype, value.shape, 0);
  value = b.Select(b.Compare("EQ", value, zero), zero, value);
  const bool is_wide = value.dtype == DType::kDouble;
  const DType type = is_wide ? DType::kInt64 : DType::kInt32;
  const Hlo bits = b.BitcastConvert(value, type);
  const Hlo highest = b.BroadcastTo(b.Highest(type), x.shape);
  const Hlo is_negative = b.Compare("LT", bits, b.Full(type, x.shape, 0));
  const Hlo key = b.Select(is_negative, b.Binary("xor", bits, highest), bits);
  const Hlo is_nan = b.Compare("NE", value, value);
  return b.Select(is_nan, b.BroadcastTo(b.Lowest(type), x.shape), key);
}

Status TopK(LoweringContext& ctx) {
  int64_t k = 0;
  if (ctx.node().op() == "TopK") {
    TFLEET_ASSIGN_OR_RETURN(k, ctx.Attr<int64_t>("k"));
  } else {
    TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.ConstantInts(1));
    if (given.size() != 1) return Unimplemented("a k that is no scalar");
    k = given[0];
  }
  const Shape& shape = ctx.shape(0);
  const int last = shape.rank() - 1;
  if (last < 0 || k < 0 || k > shape.dim(last)) return Unimplemented("so many");
  HloBuilder& b = ctx.hlo();
  const Hlo x = ctx.input(0);
  const std::vector<Hlo> sorted =
      b.Sort({OrderKey(b, x), b.Iota(DType::kInt32, shape, last), x}, last, "GT");
  std::vector<int64_t> start(shape.rank(), 0), stride(shape.rank(), 1);
  std::vector<int64_t> limit(shape.dims().begin(), shape.dims().end());
  limit[last] = k;
  ctx.Set(0, b.Slice(sorted[2], start, limit, stride));
  ctx.Set(1, b.Convert(b.Slice(sorted[1], start, limit, stride), ctx.node().output_type(1)));
  return OkStatus();
}

// Nothing can be said of a row with a number that is not finite: then the answer is no.
Status InTopK(LoweringContext& ctx) {
  const Shape& shape = ctx.shape(0);
  if (shape.rank() != 2 || ctx.shape(1).rank() != 1 || ctx.shape(1).dim(0) != shape.dim(0)) {
    return Unimplemented("targets that do not fit");
  }
  HloBuilder& b = ctx.hlo();
  const DType type = ctx.dtype(1);
  const Hlo x = ctx.input(0), target = ctx.input(1);
  Hlo k;
  if (ctx.num_inputs() == 3) {
    TFLEET_ASSIGN_OR_RETURN(k, ctx.ScalarInput(2));
  } else {
    TFLEET_ASSIGN_OR_RETURN(const int64_t given, ctx.Attr<int64_t>("k"));
    k = b.Constant(Tensor::Scalar<int64_t>(given)).value();
  }
  const Hlo is_target = b.Compare("EQ", b.Broadcast(target, shape, {0}), b.Iota(type, shape, 1));
  const Hlo score =
      b.Reduce("add", b.Select(is_target, x, b.Full(x.dtype, shape, 0)), b.Scalar(x.dtype, 0), {1});
  const Hlo is_better = b.Compare("GT", x, b.Broadcast(score, shape, {0}));
  const Hlo better =
      b.Reduce("add", b.Convert(is_better, DType::kInt64), b.Scalar(DType::kInt64, 0), {1});
  const Hlo yes = b.Scalar(DType::kBool, 1);
  const Hlo is_finite = b.Reduce("and", b.Unary("is-finite", x), yes, {1});
  const Hlo is_class = b.Reduce("or", is_target, b.Scalar(DType::kBool, 0), {1});
  const Hlo is_in =
      b.Compare("LT", better, b.BroadcastTo(b.Convert(k, DType::kInt64), better.shape));
  ctx.Set(0, b.Binary("and", is_in, b.Binary("and", is_finite, is_class)));
  return OkStatus();
}

Status L2Loss(LoweringContext& ctx) {
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  std::vector<int64_t> all;
  for (int i = 0; i < x.shape.rank(); ++i) all.push_back(i);
  const Hlo sum = b.Reduce("add", b.Mul(x, x), b.Scalar(x.dtype, 0), all);
  ctx.Set(0, b.Convert(b.Mul(sum, 0.5), dtype));
  return OkStatus();
}

}  // namespace

void AddScanLowerings(LoweringRegistry& r) {
  r.Add("Cumsum", Cumsum, {{"T", NumberTypes()}});
  r.Add("Cumprod", Cumprod, {{"T", NumberTypes()}});
  r.Add("TopK", TopK, {{"T", RealTypes()}});
  r.Add("TopKV2", TopK, {{"T", RealTypes()}, {"Tk", IndexTypes()}});
  r.Add("InTopK", InTopK, {{"T", IndexTypes()}});
  r.Add("InTopKV2", InTopK, {{"T", IndexTypes()}});
  r.Add("L2Loss", L2Loss, {{"T", FloatTypes()}});
}

}  // namespace tensorfleet::pjrt
