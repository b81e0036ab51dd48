// Gradients of ops between real and complex numbers.
#include "runtime/client/gradients/broadcast.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

DType ComplexOf(DType real) {
  return real == DType::kDouble ? DType::kComplex128 : DType::kComplex64;
}
DType RealOf(DType complex) {
  return complex == DType::kComplex128 ? DType::kDouble : DType::kFloat;
}

Term MakeComplex(const Term& real, const Term& imag) {
  return {real.scope(), ops::Complex(real.scope(), real, imag, {.Tout = ComplexOf(real.dtype())})};
}
Term RealPart(const Term& z) {
  return {z.scope(), ops::Real(z.scope(), z, {.Tout = RealOf(z.dtype())})};
}
Term ImaginaryPart(const Term& z) {
  return {z.scope(), ops::Imag(z.scope(), z, {.Tout = RealOf(z.dtype())})};
}

void Real(C& c) { c.Set(0, MakeComplex(c.g(), c.g().Number(0))); }
void Imag(C& c) { c.Set(0, MakeComplex(c.g().Number(0), c.g())); }
void Conj(C& c) { c.Set(0, Conjugate(c.g())); }

void Complex(C& c) {
  if (c.wants(0)) c.Set(0, ReducedToInput(c, RealPart(c.g()), 0, 1));
  if (c.wants(1)) c.Set(1, ReducedToInput(c, ImaginaryPart(c.g()), 1, 0));
}

void Angle(C& c) {
  const Term swapped = MakeComplex(ImaginaryPart(c.x(0)), RealPart(c.x(0)));
  c.Set(0, -(MakeComplex(c.g(), c.g().Number(0)) * Of(ops::Reciprocal, swapped)));
}

void ComplexAbs(C& c) {
  const Term zero = c.g().Number(0);
  const Term numerator = MakeComplex(c.g(), zero) * c.x(0);
  c.Set(0, Of(ops::DivNoNan, numerator, MakeComplex(c.y(), zero)));
}

}  // namespace

void RegisterComplexGradients(GradientRegistry& registry) {
  registry.Add("Real", Real);
  registry.Add("Imag", Imag);
  registry.Add("Conj", Conj);
  registry.Add("Complex", Complex);
  registry.Add("Angle", Angle);
  registry.Add("ComplexAbs", ComplexAbs);
}

}  // namespace tensorfleet
