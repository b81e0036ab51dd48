#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using Xs = std::vector<Output>;

Shape Swapped(const Shape& shape, bool swap) {
  if (!swap) return shape;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return *Shape::Make(dims);
}

}  // namespace

std::vector<GradientCase> MatrixCases() {
  std::vector<GradientCase> cases;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const std::string note = absl::StrCat("transposed ", ta, " ", tb);
      cases.push_back({"MatMul",
                       {Swapped(Shape({2, 3}), ta), Swapped(Shape({3, 4}), tb)},
                       [=](const Scope& s, const Xs& x) {
                         return Xs{
                             ops::MatMul(s, x[0], x[1], {.transpose_a = ta, .transpose_b = tb})};
                       },
                       -2,
                       2,
                       note});
      cases.push_back({"BatchMatMul",
                       {Swapped(Shape({2, 2, 3}), ta), Swapped(Shape({2, 3, 2}), tb)},
                       [=](const Scope& s, const Xs& x) {
                         return Xs{ops::BatchMatMul(s, x[0], x[1], {.adj_x = ta, .adj_y = tb})};
                       },
                       -2,
                       2,
                       note});
      cases.push_back({"BatchMatMulV2",
                       {Swapped(Shape({3, 1, 2, 3}), ta), Swapped(Shape({2, 3, 2}), tb)},
                       [=](const Scope& s, const Xs& x) {
                         return Xs{ops::BatchMatMulV2(s, x[0], x[1], {.adj_x = ta, .adj_y = tb})};
                       },
                       -2,
                       2,
                       note});
    }
  }
  const auto one = [&](const char* op, Shape shape, auto fn, const char* note = "") {
    cases.push_back(
        {op, {shape}, [fn](const Scope& s, const Xs& x) { return Xs{fn(s, x[0])}; }, -2, 2, note});
  };
  one("Diag", Shape({3}), ops::Diag);
  one("DiagPart", Shape({3, 3}), ops::DiagPart);
  one("MatrixDiag", Shape({2, 3}), ops::MatrixDiag);
  one("MatrixDiagPart", Shape({2, 3, 4}), ops::MatrixDiagPart);
  one("MatrixBandPart", Shape({3, 4}), [](const Scope& s, const Output& x) {
    return ops::MatrixBandPart(s, x, Const(s, int64_t{1}), Const(s, int64_t{0}));
  });
  one("MatrixDiagV2", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::MatrixDiagV2(s, x, Ints(s, {0, 1}), Int(s, -1), Int(s, -1),
                             ScalarConst(s, x.dtype(), 0));
  });
  one("MatrixDiagPartV2", Shape({3, 4}), [](const Scope& s, const Output& x) {
    return ops::MatrixDiagPartV2(s, x, Ints(s, {-1, 1}), ScalarConst(s, x.dtype(), 0));
  });
  for (const char* align : {"LEFT_RIGHT", "RIGHT_LEFT"}) {
    one(
        "MatrixDiagV3", Shape({2, 3}),
        [=](const Scope& s, const Output& x) {
          return ops::MatrixDiagV3(s, x, Ints(s, {0, 1}), Int(s, -1), Int(s, -1),
                                   ScalarConst(s, x.dtype(), 0), {.align = align});
        },
        align);
    one(
        "MatrixDiagPartV3", Shape({3, 4}),
        [=](const Scope& s, const Output& x) {
          return ops::MatrixDiagPartV3(s, x, Ints(s, {-1, 1}), ScalarConst(s, x.dtype(), 0),
                                       {.align = align});
        },
        align);
    cases.push_back(
        {"MatrixSetDiagV3",
         {Shape({3, 4}), Shape({2, 3})},
         [=](const Scope& s, const Xs& x) {
           return Xs{ops::MatrixSetDiagV3(s, x[0], x[1], Ints(s, {0, 1}), {.align = align})};
         },
         -2,
         2,
         align});
  }
  return cases;
}

std::vector<GradientCase> ReductionCases() {
  std::vector<GradientCase> cases;
  const auto add = [&](const char* op, auto fn, double low = -2) {
    struct Axes {
      std::vector<int64_t> axes;
      bool keep;
      const char* note;
    };
    for (const Axes& how : {Axes{{1}, false, "of one axis"}, Axes{{0, -1}, true, "kept"},
                            Axes{{0, 1, 2}, false, "of all"}, Axes{{}, false, "of none"}}) {
      cases.push_back({op,
                       {Shape({2, 3, 2})},
                       [=](const Scope& s, const Xs& x) {
                         return Xs{fn(s, x[0], Ints(s, how.axes), how.keep)};
                       },
                       low,
                       2,
                       how.note});
    }
  };
#define TFLEET_REDUCTION(Name)                                         \
  [](const Scope& s, const Output& x, const Output& axes, bool keep) { \
    return ops::Name(s, x, axes, {.keep_dims = keep});                 \
  }
  add("Sum", TFLEET_REDUCTION(Sum));
  add("Mean", TFLEET_REDUCTION(Mean));
  add("Max", TFLEET_REDUCTION(Max));
  add("Min", TFLEET_REDUCTION(Min));
  add("Prod", TFLEET_REDUCTION(Prod), 0.5);
  add("EuclideanNorm", TFLEET_REDUCTION(EuclideanNorm), 0.5);
#undef TFLEET_REDUCTION
  cases.push_back({"Prod",
                   {Shape({4})},
                   [](const Scope& s, const Xs& x) {
                     // One element is 0: the product of the others is its slope.
                     const Term masked =
                         Term(s, x[0]) * Term(s, ops::Cast(s, Ints(s, {1, 0, 1, 1}), x[0].dtype()));
                     return Xs{ops::Prod(s, masked, Ints(s, {0}))};
                   },
                   0.5,
                   2,
                   "with a zero"});
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const std::string note = absl::StrCat("exclusive ", exclusive, " reverse ", reverse);
      cases.push_back({"Cumsum",
                       {Shape({2, 3})},
                       [=](const Scope& s, const Xs& x) {
                         return Xs{ops::Cumsum(s, x[0], Int(s, 1),
                                               {.exclusive = exclusive, .reverse = reverse})};
                       },
                       -2,
                       2,
                       note});
      cases.push_back({"Cumprod",
                       {Shape({2, 3})},
                       [=](const Scope& s, const Xs& x) {
                         return Xs{ops::Cumprod(s, x[0], Int(s, 1),
                                                {.exclusive = exclusive, .reverse = reverse})};
                       },
                       0.5,
                       2,
                       note});
    }
  }
  cases.push_back({"L2Loss", {Shape({2, 3})}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::L2Loss(s, x[0])};
                   }});
  return cases;
}

}  // namespace tensorfleet
