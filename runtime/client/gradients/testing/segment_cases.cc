#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using Xs = std::vector<Output>;

template <typename Fn>
GradientCase One(const std::string& op, Shape shape, Fn fn, const char* note = "") {
  return {op, {shape}, [fn](const Scope& s, const Xs& x) { return Xs{fn(s, x[0])}; }, 0.5, 2, note};
}

// The indices of four entries of a 3 x 4 matrix, out of order.
Output Places(const Scope& s) { return IntsOf(s, DType::kInt64, {2, 0, 0, 1, 2, 3, 0, 3}); }
Output Indices(const Scope& s) { return ops::Reshape(s, Places(s), Ints(s, {4, 2})); }
Output Wide(const Scope& s, std::initializer_list<int64_t> values) {
  return IntsOf(s, DType::kInt64, values);
}

void AddSegments(std::vector<GradientCase>& cases) {
  using Segment = Output (*)(const Scope&, const Output&, const Output&);
  for (const auto& [op, fn] : {std::pair<const char*, Segment>{"SegmentSum", ops::SegmentSum},
                               {"SegmentMean", ops::SegmentMean},
                               {"SegmentMin", ops::SegmentMin},
                               {"SegmentMax", ops::SegmentMax}}) {
    cases.push_back(One(op, Shape({4, 2}), [fn = fn](const Scope& s, const Output& x) {
      return fn(s, x, Ints(s, {0, 0, 2, 2}));
    }));
  }
  using Unsorted = Output (*)(const Scope&, const Output&, const Output&, const Output&);
  for (const auto& [op, fn] :
       {std::pair<const char*, Unsorted>{"UnsortedSegmentSum", ops::UnsortedSegmentSum},
        {"UnsortedSegmentProd", ops::UnsortedSegmentProd},
        {"UnsortedSegmentMin", ops::UnsortedSegmentMin},
        {"UnsortedSegmentMax", ops::UnsortedSegmentMax}}) {
    cases.push_back(One(op, Shape({5, 2}), [fn = fn](const Scope& s, const Output& x) {
      return fn(s, x, Ints(s, {1, 0, -1, 1, 1}), Int(s, 2));
    }));
  }
  cases.push_back(One(
      "UnsortedSegmentProd", Shape({5}),
      [](const Scope& s, const Output& x) {
        // One segment with one 0, one with two.
        const Output mask = ops::Cast(s, Ints(s, {1, 0, 1, 0, 0}), x.dtype());
        return ops::UnsortedSegmentProd(s, Term(s, x) * Term(s, mask), Ints(s, {0, 0, 1, 1, 1}),
                                        Int(s, 2));
      },
      "with zeros"));
}

void AddBins(std::vector<GradientCase>& cases) {
  for (const bool rows : {false, true}) {
    cases.push_back(One(
        "DenseBincount", rows ? Shape({2, 3}) : Shape({6}),
        [rows](const Scope& s, const Output& x) {
          // 4 and 7 are in no bin.
          const Output numbers = Ints(s, {1, 3, 1, 7, 0, 4});
          return ops::DenseBincount(s, rows ? ops::Reshape(s, numbers, Ints(s, {2, 3})) : numbers,
                                    Int(s, 4), x);
        },
        rows ? "of rows" : "of a vector"));
  }
}

void AddSparseSegments(std::vector<GradientCase>& cases) {
  const auto add = [&](const char* kind, auto plain, auto counted) {
    cases.push_back(One(absl::StrCat("SparseSegment", kind), Shape({4, 2}),
                        [=](const Scope& s, const Output& x) {
                          return plain(s, x, Ints(s, {3, 0, 3, 1}), Ints(s, {0, 0, 1, 1}));
                        }));
    cases.push_back(One(absl::StrCat("SparseSegment", kind, "WithNumSegments"), Shape({4, 2}),
                        [=](const Scope& s, const Output& x) {
                          return counted(s, x, Ints(s, {3, 0, 3}), Ints(s, {0, 2, 2}), Int(s, 4));
                        }));
  };
  const auto bind = [](auto fn) {
    return [fn](const Scope& s, const auto&... args) { return fn(s, args..., {}); };
  };
  add("Sum", bind(ops::SparseSegmentSum), bind(ops::SparseSegmentSumWithNumSegments));
  add("Mean", bind(ops::SparseSegmentMean), bind(ops::SparseSegmentMeanWithNumSegments));
  add("SqrtN", bind(ops::SparseSegmentSqrtN), bind(ops::SparseSegmentSqrtNWithNumSegments));
}

void AddSparse(std::vector<GradientCase>& cases) {
  cases.push_back({"SparseToDense", {Shape({4}), Shape()}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::SparseToDense(s, Indices(s), Wide(s, {3, 4}), x[0], x[1],
                                                  {.validate_indices = false})};
                   }});
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      const int64_t inner = a ? 3 : 4;
      cases.push_back({"SparseTensorDenseMatMul",
                       {Shape({4}), b ? Shape({2, inner}) : Shape({inner, 2})},
                       [=](const Scope& s, const Xs& x) {
                         return Xs{ops::SparseTensorDenseMatMul(s, Indices(s), x[0],
                                                                Wide(s, {3, 4}), x[1],
                                                                {.adjoint_a = a, .adjoint_b = b})};
                       },
                       -2,
                       2,
                       absl::StrCat("adjoint ", a, " ", b)});
    }
  }
  cases.push_back(
      {"SparseFillEmptyRows", {Shape({2}), Shape()}, [](const Scope& s, const Xs& x) {
         const Output indices = ops::Reshape(s, Wide(s, {0, 1, 2, 0}), Ints(s, {2, 2}));
         return Xs{ops::SparseFillEmptyRows(s, indices, x[0], Wide(s, {4, 2}), x[1]).output_values};
       }});
  cases.push_back(One("SparseReorder", Shape({4}), [](const Scope& s, const Output& x) {
    return ops::SparseReorder(s, Indices(s), x, Wide(s, {3, 4})).output_values;
  }));
  cases.push_back({"SparseAdd", {Shape({2}), Shape({2})}, [](const Scope& s, const Xs& x) {
                     const Output a = ops::Reshape(s, Wide(s, {0, 1}), Ints(s, {2, 1}));
                     const Output b = ops::Reshape(s, Wide(s, {1, 2}), Ints(s, {2, 1}));
                     return Xs{ops::SparseAdd(s, a, x[0], Wide(s, {4}), b, x[1], Wide(s, {4}),
                                              ScalarConst(s, x[0].dtype(), 0))
                                   .sum_values};
                   }});
}

}  // namespace

std::vector<GradientCase> SegmentCases() {
  std::vector<GradientCase> cases;
  AddSegments(cases);
  AddBins(cases);
  AddSparseSegments(cases);
  AddSparse(cases);
  return cases;
}

}  // namespace tensorfleet
