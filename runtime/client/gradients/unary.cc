// Gradients of element-wise ops of one argument.
#include <cmath>

#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// The derivative at the argument, conjugated as the chain rule for complex numbers asks.
Term X(C& c) { return Conjugate(c.x()); }
Term Y(C& c) { return Conjugate(c.y()); }

struct Rule {
  const char* op;
  GradientFn fn;
};

constexpr Rule kPowersAndSigns[] = {
    {"Abs", [](C& c) { c.Set(0, c.g() * Of(ops::Sign, c.x())); }},
    {"Neg", [](C& c) { c.Set(0, -c.g()); }},
    {"Reciprocal", [](C& c) { c.Set(0, Of(ops::ReciprocalGrad, c.y(), c.g())); }},
    {"Inv", [](C& c) { c.Set(0, Of(ops::ReciprocalGrad, c.y(), c.g())); }},
    {"Sign", [](C& c) { c.Set(0, Of(ops::ZerosLike, c.x())); }},
    {"Square", [](C& c) { c.Set(0, c.g() * (X(c) * 2.0)); }},
    {"Sqrt", [](C& c) { c.Set(0, Of(ops::SqrtGrad, c.y(), c.g())); }},
    {"Rsqrt", [](C& c) { c.Set(0, Of(ops::RsqrtGrad, c.y(), c.g())); }},
};

constexpr Rule kExponentials[] = {
    {"Exp", [](C& c) { c.Set(0, c.g() * Y(c)); }},
    {"Expm1", [](C& c) { c.Set(0, c.g() * Of(ops::Exp, X(c))); }},
    {"Log", [](C& c) { c.Set(0, c.g() * Of(ops::Reciprocal, X(c))); }},
    {"Log1p", [](C& c) { c.Set(0, c.g() * Of(ops::Reciprocal, X(c) + 1.0)); }},
    {"Erf",
     [](C& c) { c.Set(0, c.g() * (2 / std::sqrt(M_PI) * Of(ops::Exp, -Of(ops::Square, c.x())))); }},
    {"Erfc",
     [](C& c) {
       c.Set(0, c.g() * (-2 / std::sqrt(M_PI) * Of(ops::Exp, -Of(ops::Square, c.x()))));
     }},
};

constexpr Rule kTrigonometry[] = {
    {"Sin", [](C& c) { c.Set(0, c.g() * Of(ops::Cos, X(c))); }},
    {"Cos", [](C& c) { c.Set(0, -(c.g() * Of(ops::Sin, X(c)))); }},
    {"Tan",
     [](C& c) { c.Set(0, c.g() * Of(ops::Square, Of(ops::Reciprocal, Of(ops::Cos, X(c))))); }},
    {"Asin", [](C& c) { c.Set(0, c.g() * Of(ops::Rsqrt, 1.0 - Of(ops::Square, X(c)))); }},
    {"Acos", [](C& c) { c.Set(0, -(c.g() * Of(ops::Rsqrt, 1.0 - Of(ops::Square, X(c))))); }},
    {"Atan", [](C& c) { c.Set(0, c.g() / (1.0 + Of(ops::Square, X(c)))); }},
    {"Sinh", [](C& c) { c.Set(0, c.g() * Of(ops::Cosh, X(c))); }},
    {"Cosh", [](C& c) { c.Set(0, c.g() * Of(ops::Sinh, X(c))); }},
    {"Tanh", [](C& c) { c.Set(0, Of(ops::TanhGrad, Y(c), c.g())); }},
    {"Asinh", [](C& c) { c.Set(0, c.g() / Of(ops::Cosh, Y(c))); }},
    {"Acosh", [](C& c) { c.Set(0, c.g() / Of(ops::Sinh, Y(c))); }},
    {"Atanh", [](C& c) { c.Set(0, c.g() / (1.0 - Of(ops::Square, X(c)))); }},
};

// Polygamma has no kernels for the narrow types.
Term Polygamma(double order, const Term& x) {
  const Scope& s = x.scope();
  const bool is_narrow = x.dtype() == DType::kHalf || x.dtype() == DType::kBFloat16;
  const Term wide(s, CastTo(s, x, is_narrow ? DType::kFloat : x.dtype()));
  return {s, CastTo(s, ops::Polygamma(s, wide.Number(order), wide), x.dtype())};
}

constexpr Rule kGamma[] = {
    {"Lgamma", [](C& c) { c.Set(0, c.g() * Of(ops::Digamma, c.x())); }},
    {"Digamma", [](C& c) { c.Set(0, c.g() * Polygamma(1, c.x())); }},
};

// Second derivatives: the ops above that are gradients themselves, of (y, dy).
constexpr Rule kSecond[] = {
    {"ReciprocalGrad",
     [](C& c) {
       c.Set(0, c.g() * Conjugate(c.x(1) * c.x(0)) * -2.0);
       c.Set(1, Of(ops::ReciprocalGrad, Conjugate(c.x(0)), c.g()));
     }},
    {"InvGrad",
     [](C& c) {
       c.Set(0, c.g() * Conjugate(c.x(1) * c.x(0)) * -2.0);
       c.Set(1, Of(ops::ReciprocalGrad, Conjugate(c.x(0)), c.g()));
     }},
    {"SqrtGrad",
     [](C& c) {
       const Term scaled = c.g() / Conjugate(c.x(0));
       c.Set(0, -(Conjugate(c.y()) * scaled));
       c.Set(1, scaled * 0.5);
     }},
    {"RsqrtGrad",
     [](C& c) {
       const Term y = Conjugate(c.x(0));
       c.Set(0, c.g() * Conjugate(c.x(1)) * Of(ops::Square, y) * -1.5);
       c.Set(1, Of(ops::RsqrtGrad, y, c.g()));
     }},
    {"TanhGrad",
     [](C& c) {
       const Term y = Conjugate(c.x(0));
       c.Set(0, c.g() * Conjugate(c.x(1)) * y * -2.0);
       c.Set(1, Of(ops::TanhGrad, y, c.g()));
     }},
};

}  // namespace

void RegisterUnaryGradients(GradientRegistry& registry) {
  for (const Rule& rule : kPowersAndSigns) registry.Add(rule.op, rule.fn);
  for (const Rule& rule : kExponentials) registry.Add(rule.op, rule.fn);
  for (const Rule& rule : kTrigonometry) registry.Add(rule.op, rule.fn);
  for (const Rule& rule : kGamma) registry.Add(rule.op, rule.fn);
  for (const Rule& rule : kSecond) registry.Add(rule.op, rule.fn);
}

}  // namespace tensorfleet
