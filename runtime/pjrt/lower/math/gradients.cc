// Gradients of element-wise ops, which are ops of their own.
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

Status CheckShapes(LoweringContext& ctx) {
  if (ctx.shape(0) == ctx.shape(1)) return OkStatus();
  return Unimplemented("shapes that differ");
}

// For y = f(x): the inputs are y and dy.
Status SigmoidGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  const Hlo y = ctx.input(0), dy = ctx.input(1);
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Mul(b.Mul(dy, y), b.Sub(b.Full(y.dtype, y.shape, 1), y)));
  return OkStatus();
}

Status TanhGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  const Hlo y = ctx.input(0), dy = ctx.input(1);
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Mul(dy, b.Sub(b.Full(y.dtype, y.shape, 1), b.Mul(y, y))));
  return OkStatus();
}

// No gradient has none at 0 either, where its factor is infinite.
Status SqrtGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  HloBuilder& b = ctx.hlo();
  const Hlo dy = ctx.input(1), zero = b.Full(dy.dtype, dy.shape, 0);
  ctx.Set(0, b.Select(b.Compare("EQ", dy, zero), zero, b.Div(b.Mul(dy, 0.5), ctx.input(0))));
  return OkStatus();
}

Status RsqrtGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  const Hlo y = ctx.input(0), dy = ctx.input(1);
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Mul(b.Mul(dy, -0.5), b.Mul(y, b.Mul(y, y))));
  return OkStatus();
}

Status ReciprocalGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  const Hlo y = ctx.input(0), dy = ctx.input(1);
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Unary("negate", b.Mul(dy, b.Mul(y, y))));
  return OkStatus();
}

// The inputs are dy and what the op saw (or gave: for these it is the same).
Status Gate(LoweringContext& ctx, const Hlo& is_open, double closed = 0) {
  HloBuilder& b = ctx.hlo();
  const Hlo dy = ctx.input(0);
  const Hlo otherwise = closed == 0 ? b.Full(dy.dtype, dy.shape, 0) : b.Mul(dy, closed);
  ctx.Set(0, b.Select(is_open, dy, otherwise));
  return OkStatus();
}

Status ReluGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  HloBuilder& b = ctx.hlo();
  const Hlo x = ctx.input(1);
  return Gate(ctx, b.Compare("GT", x, b.Full(x.dtype, x.shape, 0)));
}

Status Relu6Grad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  HloBuilder& b = ctx.hlo();
  const Hlo x = ctx.input(1);
  const Hlo above = b.Compare("GT", x, b.Full(x.dtype, x.shape, 0));
  return Gate(ctx, b.Binary("and", above, b.Compare("LT", x, b.Full(x.dtype, x.shape, 6))));
}

Status LeakyReluGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  TFLEET_ASSIGN_OR_RETURN(const float alpha, ctx.Attr<float>("alpha"));
  HloBuilder& b = ctx.hlo();
  const Hlo x = ctx.input(1);
  return Gate(ctx, b.Compare("GT", x, b.Full(x.dtype, x.shape, 0)), alpha);
}

Status EluGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  HloBuilder& b = ctx.hlo();
  const Hlo dy = ctx.input(0), y = ctx.input(1);
  const Hlo zero = b.Full(y.dtype, y.shape, 0);
  ctx.Set(0, b.Select(b.Compare("LT", y, zero), b.Mul(dy, b.Add(y, 1)), dy));
  return OkStatus();
}

Status SeluGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0), wide = AccumulatorType(dtype);
  const Hlo dy = b.Convert(ctx.input(0), wide), y = b.Convert(ctx.input(1), wide);
  const Hlo below = b.Mul(dy, b.Add(y, b.Full(wide, y.shape, 1.7580993408473768599)));
  const Hlo is_below = b.Compare("LT", y, b.Full(wide, y.shape, 0));
  ctx.Set(0, b.Convert(b.Select(is_below, below, b.Mul(dy, 1.0507009873554804934)), dtype));
  return OkStatus();
}

// dy / (1 + |x|)².
Status SoftsignGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0), wide = AccumulatorType(dtype);
  const Hlo divisor = b.Add(b.Unary("abs", b.Convert(ctx.input(1), wide)), 1);
  ctx.Set(0, b.Convert(b.Div(b.Convert(ctx.input(0), wide), b.Mul(divisor, divisor)), dtype));
  return OkStatus();
}

// dy * sigmoid(x).
Status SoftplusGrad(LoweringContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx));
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Mul(ctx.input(0), b.Unary("logistic", ctx.input(1))));
  return OkStatus();
}

}  // namespace

void AddGradientLowerings(LoweringRegistry& r) {
  const std::pair<const char*, Lowering> kOps[] = {
      {"SigmoidGrad", SigmoidGrad},     {"TanhGrad", TanhGrad},
      {"SqrtGrad", SqrtGrad},           {"RsqrtGrad", RsqrtGrad},
      {"InvGrad", ReciprocalGrad},      {"ReciprocalGrad", ReciprocalGrad},
      {"ReluGrad", ReluGrad},           {"Relu6Grad", Relu6Grad},
      {"LeakyReluGrad", LeakyReluGrad}, {"EluGrad", EluGrad},
      {"SoftplusGrad", SoftplusGrad},   {"SeluGrad", SeluGrad},
      {"SoftsignGrad", SoftsignGrad}};
  for (const auto& [op, lower] : kOps) r.Add(op, lower, {{"T", FloatTypes()}});
}

}  // namespace tensorfleet::pjrt
