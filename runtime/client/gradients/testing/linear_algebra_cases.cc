#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"
#include "runtime/client/term.h"

namespace tensorfleet {
namespace {

using Xs = std::vector<Output>;

// n x n matrices that are far from singular, of arguments between -2 and 2.
Term Regular(const Scope& s, const Output& x, int64_t n) {
  const Term eye(s, ops::Diag(s, ops::Fill(s, Ints(s, {n}), ScalarConst(s, x.dtype(), 3))));
  return Term(s, x) * 0.5 + eye;
}

// Symmetric positive ones.
Term Definite(const Scope& s, const Output& x, int64_t n) {
  const Term root = Regular(s, x, n);
  return {s, ops::BatchMatMulV2(s, root, root, {.adj_x = true})};
}

template <typename Fn>
GradientCase One(const char* op, Shape shape, Fn fn, const char* note = "") {
  return {op, {shape}, [fn](const Scope& s, const Xs& x) { return fn(s, x[0]); }, -2, 2, note};
}

void AddQr(std::vector<GradientCase>& cases) {
  struct How {
    Shape shape;
    bool full;
    const char* note;
  };
  for (const How& how : {How{Shape({2, 3, 3}), true, "square"}, How{Shape({4, 2}), false, "deep"},
                         How{Shape({2, 2, 4}), false, "wide"}}) {
    cases.push_back(One(
        "Qr", how.shape,
        [how](const Scope& s, const Output& x) {
          const auto parts = ops::Qr(s, x, {.full_matrices = how.full});
          return Xs{parts.q, parts.r};
        },
        how.note));
    cases.back().needs_rank = true;
  }
}

}  // namespace

std::vector<GradientCase> LinearAlgebraCases() {
  std::vector<GradientCase> cases;
  for (const Shape& shape : {Shape({3, 3}), Shape({2, 3, 3})}) {
    const char* note = shape.rank() == 2 ? "of one" : "of a batch";
    cases.push_back(One(
        "Cholesky", shape,
        [](const Scope& s, const Output& x) { return Xs{ops::Cholesky(s, Definite(s, x, 3))}; },
        note));
    cases.push_back(One(
        "MatrixDeterminant", shape,
        [](const Scope& s, const Output& x) {
          return Xs{ops::MatrixDeterminant(s, Regular(s, x, 3))};
        },
        note));
  }
  for (const bool adjoint : {false, true}) {
    const char* note = adjoint ? "adjoint" : "plain";
    cases.push_back(One(
        "MatrixInverse", Shape({2, 3, 3}),
        [=](const Scope& s, const Output& x) {
          return Xs{ops::MatrixInverse(s, Regular(s, x, 3), {.adjoint = adjoint})};
        },
        note));
    cases.push_back({"MatrixSolve",
                     {Shape({2, 3, 3}), Shape({2, 3, 2})},
                     [=](const Scope& s, const Xs& x) {
                       return Xs{
                           ops::MatrixSolve(s, Regular(s, x[0], 3), x[1], {.adjoint = adjoint})};
                     },
                     -2,
                     2,
                     note});
    for (const bool lower : {false, true}) {
      cases.push_back({"MatrixTriangularSolve",
                       {Shape({2, 3, 3}), Shape({2, 3, 2})},
                       [=](const Scope& s, const Xs& x) {
                         return Xs{ops::MatrixTriangularSolve(
                             s, Regular(s, x[0], 3), x[1], {.lower = lower, .adjoint = adjoint})};
                       },
                       -2,
                       2,
                       absl::StrCat(note, lower ? " lower" : " upper")});
    }
  }
  AddQr(cases);
  return cases;
}

}  // namespace tensorfleet
