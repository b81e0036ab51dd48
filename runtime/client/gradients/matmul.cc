// Gradients of matrix products.
#include "runtime/client/gradients/broadcast.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// A product of two of x, y and the gradient, each transposed or not.
using Product = std::function<Term(const Term& a, const Term& b, bool ta, bool tb)>;

// For z = op(x) op(y): which product gives each gradient, by what was transposed.
Term GradientOfX(C& c, bool tx, bool ty, const Term& y, const Product& times) {
  return tx ? times(y, c.g(), ty, true) : times(c.g(), y, false, !ty);
}
Term GradientOfY(C& c, bool tx, bool ty, const Term& x, const Product& times) {
  return ty ? times(c.g(), x, true, tx) : times(x, c.g(), !tx, false);
}

void MatMul(C& c) {
  const bool ta = c.Attr<bool>("transpose_a"), tb = c.Attr<bool>("transpose_b");
  const Product times = [](const Term& a, const Term& b, bool ta, bool tb) {
    return Term(a.scope(), ops::MatMul(a.scope(), a, b, {.transpose_a = ta, .transpose_b = tb}));
  };
  if (c.wants(0)) c.Set(0, GradientOfX(c, ta, tb, Conjugate(c.x(1)), times));
  if (c.wants(1)) c.Set(1, GradientOfY(c, ta, tb, Conjugate(c.x(0)), times));
}

Term Adjoint(const Term& a, const Term& b, bool ta, bool tb) {
  return {a.scope(), ops::BatchMatMulV2(a.scope(), a, b, {.adj_x = ta, .adj_y = tb})};
}

void BatchMatMul(C& c) {
  const bool ax = c.Attr<bool>("adj_x"), ay = c.Attr<bool>("adj_y");
  if (c.wants(0)) c.Set(0, GradientOfX(c, ax, ay, c.x(1), Adjoint));
  if (c.wants(1)) c.Set(1, GradientOfY(c, ax, ay, c.x(0), Adjoint));
}

// The dimensions before the matrices, which may have been broadcast.
BroadcastShape BatchOf(C& c, int i) {
  const PartialShape shape = c.StaticShapeOfX(i);
  PartialShape batch;
  if (shape.has_rank() && shape.rank() >= 2) {
    batch = PartialShape(shape.dims().subspan(0, shape.rank() - 2));
  }
  return {batch, [&c, i] { return Term(c.scope(), VectorSlice(c.scope(), c.ShapeOfX(i), 0, -2)); }};
}

// `gradient` summed over the batch dimensions along which input `i` was repeated.
Term WithoutBroadcast(C& c, const Term& gradient, int i) {
  const BroadcastShape mine = BatchOf(c, i), other = BatchOf(c, 1 - i);
  if (mine.known.is_fully_defined() && mine.known == other.known) return gradient;
  const Output axes = ops::BroadcastGradientArgs(c.scope(), mine.tensor(), other.tensor()).r0;
  return Reshaped(SumOver(gradient, axes), c.ShapeOfX(i));
}

void BatchMatMulV2(C& c) {
  const bool ax = c.Attr<bool>("adj_x"), ay = c.Attr<bool>("adj_y");
  if (c.wants(0)) c.Set(0, WithoutBroadcast(c, GradientOfX(c, ax, ay, c.x(1), Adjoint), 0));
  if (c.wants(1)) c.Set(1, WithoutBroadcast(c, GradientOfY(c, ax, ay, c.x(0), Adjoint), 1));
}

}  // namespace

void RegisterMatMulGradients(GradientRegistry& registry) {
  registry.Add("MatMul", MatMul);
  registry.Add("BatchMatMul", BatchMatMul);
  registry.Add("BatchMatMulV2", BatchMatMulV2);
}

}  // namespace tensorfleet
