// Complex numbers and their parts.
#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

Status Complex(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Complex(b.BroadcastTo(ctx.input(0), shape), b.BroadcastTo(ctx.input(1), shape)));
  return OkStatus();
}

Status Real(LoweringContext& ctx) {
  ctx.Set(0, ctx.hlo().Real(ctx.input(0)));
  return OkStatus();
}

Status Imag(LoweringContext& ctx) {
  ctx.Set(0, ctx.hlo().Imaginary(ctx.input(0)));
  return OkStatus();
}

Status Conj(LoweringContext& ctx) {
  HloBuilder& b = ctx.hlo();
  const Hlo x = ctx.input(0);
  ctx.Set(0, b.Complex(b.Real(x), b.Unary("negate", b.Imaginary(x))));
  return OkStatus();
}

Status Abs(LoweringContext& ctx) {
  ctx.Set(0, ctx.hlo().Unary("abs", ctx.input(0)));
  return OkStatus();
}

Status Angle(LoweringContext& ctx) {
  HloBuilder& b = ctx.hlo();
  const Hlo x = ctx.input(0);
  ctx.Set(0, b.Binary("atan2", b.Imaginary(x), b.Real(x)));
  return OkStatus();
}

}  // namespace

void AddComplexLowerings(LoweringRegistry& r) {
  const std::vector<DType> complexes = {DType::kComplex64, DType::kComplex128};
  r.Add("Complex", Complex, {{"T", {DType::kFloat, DType::kDouble}}});
  for (const auto& [op, lower] : {std::pair<const char*, Lowering>{"Real", Real},
                                  {"Imag", Imag},
                                  {"Conj", Conj},
                                  {"ComplexAbs", Abs},
                                  {"Angle", Angle}}) {
    r.Add(op, lower, {{"T", complexes}});
  }
}

}  // namespace tensorfleet::pjrt
