// Angles, hyperbolic functions and their inverses, and the error function. In float where the type
// is narrower: the kernels round once.
#include <limits>

#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// A function of one argument that is made of others.
using Formula = Hlo (*)(HloBuilder& b, const Hlo& x);

template <Formula kFormula>
Status Apply(LoweringContext& ctx) {
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  ctx.Set(0, b.Convert(kFormula(b, x), dtype));
  return OkStatus();
}

Hlo Like(HloBuilder& b, const Hlo& x, double number) { return b.Full(x.dtype, x.shape, number); }

// The root of 1 - x², without the digits that a square would lose near 1.
Hlo OtherSide(HloBuilder& b, const Hlo& x) {
  return b.Unary("sqrt", b.Mul(b.Sub(Like(b, x, 1), x), b.Add(x, 1)));
}

Hlo Asin(HloBuilder& b, const Hlo& x) {
  return b.Mul(b.Binary("atan2", x, b.Add(OtherSide(b, x), 1)), 2);
}

Hlo Acos(HloBuilder& b, const Hlo& x) {
  const Hlo half = b.Binary("atan2", OtherSide(b, x), b.Add(x, 1));
  return b.Select(b.Compare("EQ", x, Like(b, x, -1)), Like(b, x, 3.14159265358979323846),
                  b.Mul(half, 2));
}

Hlo Atan(HloBuilder& b, const Hlo& x) { return b.Binary("atan2", x, Like(b, x, 1)); }

// exp(|x| / 2), whose square is as large as a hyperbolic function can be before it overflows.
Hlo HalfPower(HloBuilder& b, const Hlo& x) {
  return b.Unary("exponential", b.Mul(b.Unary("abs", x), 0.5));
}

Hlo Sinh(HloBuilder& b, const Hlo& x) {
  const Hlo small = b.Unary("exponential-minus-one", b.Unary("abs", x));
  const Hlo near = b.Mul(b.Add(small, b.Div(small, b.Add(small, 1))), 0.5);
  const Hlo power = HalfPower(b, x);
  const Hlo far =
      b.Sub(b.Mul(b.Mul(power, 0.5), power), b.Div(b.Div(Like(b, x, 0.5), power), power));
  const Hlo is_near = b.Compare("LT", b.Unary("abs", x), Like(b, x, 1));
  return b.Mul(b.Select(is_near, near, far), b.Unary("sign", x));
}

Hlo Cosh(HloBuilder& b, const Hlo& x) {
  const Hlo power = HalfPower(b, x);
  return b.Add(b.Mul(b.Mul(power, 0.5), power), b.Div(b.Div(Like(b, x, 0.5), power), power));
}

// Beyond it a number and the root of its square plus or less 1 are the same, also in doubles.
constexpr double kFar = 1e8;
constexpr double kLogOf2 = 0.69314718055994530942;

Hlo Asinh(HloBuilder& b, const Hlo& x) {
  const Hlo size = b.Unary("abs", x), square = b.Mul(size, size);
  const Hlo more = b.Div(square, b.Add(b.Unary("sqrt", b.Add(square, 1)), 1));
  const Hlo near = b.Unary("log-plus-one", b.Add(size, more));
  const Hlo far = b.Add(b.Unary("log", size), kLogOf2);
  const Hlo is_far = b.Compare("GT", size, Like(b, x, kFar));
  return b.Mul(b.Select(is_far, far, near), b.Unary("sign", x));
}

Hlo Acosh(HloBuilder& b, const Hlo& x) {
  const Hlo over = b.Sub(x, 1);
  const Hlo root = b.Unary("sqrt", b.Mul(over, b.Add(over, 2)));
  const Hlo near = b.Unary("log-plus-one", b.Add(over, root));
  const Hlo far = b.Add(b.Unary("log", x), kLogOf2);
  const Hlo value = b.Select(b.Compare("GT", x, Like(b, x, kFar)), far, near);
  return b.Select(b.Compare("LT", x, Like(b, x, 1)),
                  Like(b, x, std::numeric_limits<double>::quiet_NaN()), value);
}

Hlo Atanh(HloBuilder& b, const Hlo& x) {
  const Hlo above = b.Unary("log-plus-one", x);
  return b.Mul(b.Sub(above, b.Unary("log-plus-one", b.Unary("negate", x))), 0.5);
}

Hlo Erf(HloBuilder& b, const Hlo& x) { return b.Unary("erf", x); }

}  // namespace

void AddTrigonometryLowerings(LoweringRegistry& r) {
  const std::pair<const char*, Lowering> kOps[] = {
      {"Asin", Apply<Asin>},   {"Acos", Apply<Acos>},   {"Atan", Apply<Atan>},
      {"Sinh", Apply<Sinh>},   {"Cosh", Apply<Cosh>},   {"Asinh", Apply<Asinh>},
      {"Acosh", Apply<Acosh>}, {"Atanh", Apply<Atanh>}, {"Erf", Apply<Erf>}};
  for (const auto& [op, lower] : kOps) r.Add(op, lower, {{"T", FloatTypes()}});
}

}  // namespace tensorfleet::pjrt
