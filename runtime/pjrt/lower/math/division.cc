// Quotients and remainders. For whole numbers a divisor of zero is refused, as the kernels do.
#include <algorithm>

#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

struct Operands {
  Hlo a, b;
};

// Of one whole number.
bool HasNoZero(const Tensor& value) {
  const char* const bytes = static_cast<const char*>(value.raw());
  return std::any_of(bytes, bytes + value.bytes(), [](char byte) { return byte != 0; });
}

StatusOr<Operands> Load(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  HloBuilder& b = ctx.hlo();
  const Operands x = {b.BroadcastTo(ctx.input(0), shape), b.BroadcastTo(ctx.input(1), shape)};
  if (!IsInteger(x.a.dtype)) return x;
  const Hlo divisor = ctx.input(1);
  const StatusOr<Tensor> known = ctx.Constant(1);
  if (known.ok() && known->num_elements() == 1 && HasNoZero(*known)) return x;
  // Of an empty result no divisor is used, and our kernel looks at none.
  if (shape.num_elements() > 0) {
    ctx.faults().Add(b.Compare("EQ", divisor, b.Full(divisor.dtype, divisor.shape, 0)));
  }
  return x;
}

// In float where the type is narrower: the kernels round once.
StatusOr<Operands> LoadWide(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(Operands x, Load(ctx));
  const DType wide = AccumulatorType(x.a.dtype);
  x.a = ctx.hlo().Convert(x.a, wide);
  x.b = ctx.hlo().Convert(x.b, wide);
  return x;
}

// Towards zero.
Hlo Truncated(HloBuilder& b, const Hlo& x) {
  return b.Select(b.Compare("LT", x, b.Full(x.dtype, x.shape, 0)), b.Unary("ceil", x),
                  b.Unary("floor", x));
}

Status Div(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Operands x, Load(ctx));
  ctx.Set(0, ctx.hlo().Div(x.a, x.b));
  return OkStatus();
}

Status TruncateDiv(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Operands x, Load(ctx));
  const Hlo quotient = ctx.hlo().Div(x.a, x.b);
  ctx.Set(0, IsInteger(x.a.dtype) ? quotient : Truncated(ctx.hlo(), quotient));
  return OkStatus();
}

// Whether a remainder, towards zero, has another sign than the divisor.
Hlo IsOnTheOtherSide(HloBuilder& b, const Hlo& remainder, const Hlo& divisor) {
  const Hlo zero = b.Full(remainder.dtype, remainder.shape, 0);
  const Hlo differ =
      b.Binary("xor", b.Compare("LT", remainder, zero), b.Compare("LT", divisor, zero));
  return b.Binary("and", b.Compare("NE", remainder, zero), differ);
}

Status FloorDiv(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Operands x, Load(ctx));
  HloBuilder& b = ctx.hlo();
  const Hlo quotient = b.Div(x.a, x.b);
  if (IsInteger(x.a.dtype)) {
    const Hlo off = IsOnTheOtherSide(b, b.Binary("remainder", x.a, x.b), x.b);
    ctx.Set(0, b.Select(off, b.Sub(quotient, 1), quotient));
  } else {
    ctx.Set(0, b.Unary("floor", quotient));
  }
  return OkStatus();
}

Status FloorMod(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Operands x, LoadWide(ctx));
  HloBuilder& b = ctx.hlo();
  const Hlo remainder = b.Binary("remainder", x.a, x.b);
  const Hlo off = IsOnTheOtherSide(b, remainder, x.b);
  ctx.Set(0, b.Convert(b.Select(off, b.Add(remainder, x.b), remainder), ctx.dtype(0)));
  return OkStatus();
}

Status TruncateMod(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Operands x, LoadWide(ctx));
  ctx.Set(0, ctx.hlo().Convert(ctx.hlo().Binary("remainder", x.a, x.b), ctx.dtype(0)));
  return OkStatus();
}

}  // namespace

void AddDivisionLowerings(LoweringRegistry& r) {
  r.Add("RealDiv", Div, {{"T", FloatAndComplexTypes()}});
  r.Add("Div", Div, {{"T", NumberTypes()}});
  r.Add("TruncateDiv", TruncateDiv, {{"T", RealTypes()}});
  r.Add("FloorDiv", FloorDiv, {{"T", RealTypes()}});
  r.Add("FloorMod", FloorMod, {{"T", RealTypes()}});
  r.Add("Mod", TruncateMod, {{"T", RealTypes()}});
  r.Add("TruncateMod", TruncateMod, {{"T", RealTypes()}});
}

}  // namespace tensorfleet::pjrt
