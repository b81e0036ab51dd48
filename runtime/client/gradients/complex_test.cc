// Gradients through complex numbers, in closed form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/gradients.h"
#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/client/term.h"

namespace tensorfleet {
namespace {

// The gradient of `y(z)` at a + bi with respect to a and b.
std::pair<double, double> Slopes(double a, double b,
                                 const std::function<Output(const Scope&, const Output&)>& y) {
  Scope root;
  const Output re = Const(root, a), im = Const(root, b);
  const Output z = ops::Complex(root, re, im, {.Tout = DType::kComplex128});
  const auto grads = AddSymbolicGradients(root, {y(root, z)}, {re, im});
  const auto session = *Session::Open("");
  const auto values = session->Run(root, {}, {grads[0].dense(), grads[1].dense()});
  if (!values.ok()) {
    ADD_FAILURE() << values.status();
    return {0, 0};
  }
  return {(*values)[0].scalar<double>(), (*values)[1].scalar<double>()};
}

Output Re(const Scope& s, const Output& z) { return ops::Real(s, z, {.Tout = DType::kDouble}); }
Output Im(const Scope& s, const Output& z) { return ops::Imag(s, z, {.Tout = DType::kDouble}); }

using ::testing::DoubleNear;
using ::testing::Pair;

auto Near(double a, double b) { return Pair(DoubleNear(a, 1e-12), DoubleNear(b, 1e-12)); }

TEST(ComplexGradients, OfParts) {
  EXPECT_THAT(Slopes(3, 4, Re), Near(1, 0));
  EXPECT_THAT(Slopes(3, 4, Im), Near(0, 1));
  EXPECT_THAT(Slopes(3, 4, [](const Scope& s, const Output& z) { return Im(s, ops::Conj(s, z)); }),
              Near(0, -1));
}

TEST(ComplexGradients, OfTheAbsoluteValueAndTheAngle) {
  EXPECT_THAT(Slopes(3, 4,
                     [](const Scope& s, const Output& z) {
                       return ops::ComplexAbs(s, z, {.Tout = DType::kDouble});
                     }),
              Near(0.6, 0.8));
  // d atan2(b, a) = (-b, a) / (a^2 + b^2)
  EXPECT_THAT(Slopes(3, 4,
                     [](const Scope& s, const Output& z) {
                       return ops::Angle(s, z, {.Tout = DType::kDouble});
                     }),
              Near(-0.16, 0.12));
}

TEST(ComplexGradients, OfProductsAreConjugated) {
  // Re(z * z) = a^2 - b^2
  EXPECT_THAT(
      Slopes(3, 4, [](const Scope& s, const Output& z) { return Re(s, ops::Mul(s, z, z)); }),
      Near(6, -8));
  // Im(z^2) = 2ab
  EXPECT_THAT(
      Slopes(3, 4, [](const Scope& s, const Output& z) { return Im(s, ops::Square(s, z)); }),
      Near(8, 6));
  // Re(1 / z) = a / (a^2 + b^2)
  EXPECT_THAT(
      Slopes(3, 4, [](const Scope& s, const Output& z) { return Re(s, ops::Reciprocal(s, z)); }),
      Near((16 - 9) / 625.0, -24 / 625.0));
}

}  // namespace
}  // namespace tensorfleet
