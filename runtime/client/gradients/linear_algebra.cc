// Gradients of decompositions, inverses and linear equations; the last two dimensions are matrices.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// The product of matrices; `adjoint_a` and `adjoint_b` ask for the conjugate transposes.
Term Product(const Term& a, const Term& b, bool adjoint_a = false, bool adjoint_b = false) {
  return {a.scope(), ops::BatchMatMulV2(a.scope(), a, b, {.adj_x = adjoint_a, .adj_y = adjoint_b})};
}

// The diagonals and what is below them, or above.
Term Triangle(const Term& a, bool lower) {
  const Scope& s = a.scope();
  const Output none = Const(s, int64_t{0}), all = Const(s, int64_t{-1});
  return {s, ops::MatrixBandPart(s, a, lower ? all : none, lower ? none : all)};
}

// The lower triangles with the diagonals halved: with its adjoint, each adds up to a Hermitian
// matrix that has the triangle, and the real part of the diagonal.
Term HalfOfHermitian(const Term& a) {
  const Scope& s = a.scope();
  const Term triangle = Triangle(a, /*lower=*/true);
  const Term diagonal(s, ops::MatrixDiagPart(s, a));
  return {s, ops::MatrixSetDiagV3(s, triangle, diagonal * 0.5, Int(s, 0))};
}

// X with `triangle` X = rhs, or with its adjoint.
Term Solved(const Term& triangle, const Term& rhs, bool lower, bool adjoint = false) {
  const Scope& s = triangle.scope();
  return {s, ops::MatrixTriangularSolve(s, triangle, rhs, {.lower = lower, .adjoint = adjoint})};
}

// The conjugate transposes of matrices of any rank.
Term Adjoint(const Term& a) {
  const Scope& s = a.scope();
  const Term rank(s, ops::Rank(s, a)), one(s, Int(s, 1));
  const Output batch = ops::Range(s, Int(s, 0), rank - 2.0, one);
  const auto last = [&](double back) { return ops::Reshape(s, rank - back, Ints(s, {1})); };
  return {s, ops::ConjugateTranspose(s, a, Joined(s, {batch, last(1), last(2)}))};
}

void MatrixInverse(C& c) {
  const Term y = c.y(), g = c.g();
  if (c.Attr<bool>("adjoint")) {
    c.Set(0, -Product(y, Product(g, y, /*adjoint_a=*/true)));
  } else {
    c.Set(0, -Product(y, Product(g, y, false, /*adjoint_b=*/true), /*adjoint_a=*/true));
  }
}

void MatrixDeterminant(C& c) {
  const Scope& s = c.scope();
  const Term inverse(s, ops::MatrixInverse(s, c.x(), {.adjoint = true}));
  const Term weight = c.g() * Conjugate(c.y());
  c.Set(0, Expanded(Expanded(weight, -1), -1) * inverse);
}

// Of (matrix, rhs) -> X with matrix X = rhs, or with the matrix's adjoint.
void SetSolve(C& c, const Term& rhs_gradient, bool adjoint) {
  c.Set(1, rhs_gradient);
  if (!c.wants(0)) return;
  const Term x = c.y();
  c.Set(0, adjoint ? -Product(x, rhs_gradient, false, /*adjoint_b=*/true)
                   : -Product(rhs_gradient, x, false, /*adjoint_b=*/true));
}

void MatrixSolve(C& c) {
  const bool adjoint = c.Attr<bool>("adjoint");
  SetSolve(c, {c.scope(), ops::MatrixSolve(c.scope(), c.x(0), c.g(), {.adjoint = !adjoint})},
           adjoint);
}

void MatrixTriangularSolve(C& c) {
  const bool adjoint = c.Attr<bool>("adjoint"), lower = c.Attr<bool>("lower");
  SetSolve(c, Solved(c.x(0), c.g(), lower, !adjoint), adjoint);
  // The other half of the matrix is not looked at.
  if (c.wants(0)) c.Set(0, Triangle({c.scope(), c.results()[0].dense()}, lower));
}

// Of A = L L^H: the Hermitian part of L^-H P L^-1, with P half of a Hermitian matrix that has the
// lower triangle of L^H G.
void Cholesky(C& c) {
  const Term l = c.y(), p = HalfOfHermitian(Product(l, c.g(), /*adjoint_a=*/true));
  // L^-H P, then the same from the other side.
  const Term left = Solved(l, p, /*lower=*/true, /*adjoint=*/true);
  const Term both = Adjoint(Solved(l, Adjoint(left), /*lower=*/true, /*adjoint=*/true));
  c.Set(0, (both + Adjoint(both)) * 0.5);
}

// Of A = Q R where R is square: (dQ + Q S) R^-H, with S the Hermitian matrix that has the lower
// triangle of R dR^H - dQ^H Q.
Term OfSquareR(const Term& q, const Term& r, const Term& dq, const Term& dr) {
  const Term m = Product(r, dr, false, true) - Product(dq, q, true);
  const Term half = HalfOfHermitian(m);
  return Adjoint(Solved(r, Adjoint(dq + Product(q, half + Adjoint(half))), /*lower=*/false));
}

// Columns [begin, end) of matrices; an `end` of -1 means all the rest.
Term Columns(const Term& a, int64_t begin, int64_t end) {
  const Scope& s = a.scope();
  // An ellipsis, then the columns.
  return {s, ops::StridedSlice(s, a, Ints(s, {0, begin}), Ints(s, {0, end < 0 ? 0 : end}),
                               Ints(s, {1, 1}),
                               {.begin_mask = 0, .end_mask = end < 0 ? 2 : 0, .ellipsis_mask = 1})};
}

void Qr(C& c) {
  const PartialShape shape = c.StaticShapeOfX(0);
  const int64_t rows = shape.has_rank() ? shape.dim(shape.rank() - 2) : -1;
  const int64_t columns = shape.has_rank() ? shape.dim(shape.rank() - 1) : -1;
  if (rows < 0 || columns < 0) {
    c.scope().Fail(Unimplemented("the gradient of Qr (node '", c.node().name(),
                                 "') needs to know the numbers of rows and columns"));
    return;
  }
  if (rows > columns && c.Attr<bool>("full_matrices")) {
    c.scope().Fail(Unimplemented("the gradient of Qr (node '", c.node().name(),
                                 "') of more rows than columns with full_matrices is not defined: "
                                 "the columns that fill Q up can be any"));
    return;
  }
  // There are no triangular systems of halves.
  const DType type = c.x().dtype();
  const auto wide = [&](const Term& a) {
    return Term(c.scope(), CastTo(c.scope(), a, type == DType::kHalf ? DType::kFloat : type));
  };
  const Term q = wide(c.y(0)), r = wide(c.y(1)), dq = wide(c.g(0)), dr = wide(c.g(1));
  if (rows >= columns) {
    c.Set(0, CastTo(c.scope(), OfSquareR(q, r, dq, dr), type));
    return;
  }
  // A = [X Y] and R = [U V]: X = Q U, and V = Q^H Y.
  const Term y = Columns(wide(c.x()), rows, -1), dv = Columns(dr, rows, -1);
  const Term dx =
      OfSquareR(q, Columns(r, 0, rows), dq + Product(y, dv, false, true), Columns(dr, 0, rows));
  const Output both = ops::ConcatV2(c.scope(), {dx, Product(q, dv)}, Int(c.scope(), -1));
  c.Set(0, CastTo(c.scope(), both, type));
}

}  // namespace

void RegisterLinearAlgebraGradients(GradientRegistry& registry) {
  registry.Add("MatrixInverse", MatrixInverse);
  registry.Add("MatrixDeterminant", MatrixDeterminant);
  registry.Add("MatrixSolve", MatrixSolve);
  registry.Add("MatrixTriangularSolve", MatrixTriangularSolve);
  registry.Add("Cholesky", Cholesky);
  registry.Add("Qr", Qr);
}

}  // namespace tensorfleet
