// Gradients of segment reductions.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

Term Rows(const Term& table, const Output& indices) {
  return {table.scope(), ops::Gather(table.scope(), table, indices)};
}

// A vector with as many axes of size 1 after it as `like` has more than `vector`'s one.
Term AlongFirstAxis(C& c, const Term& vector, const Output& shape_of_like) {
  const Scope& s = c.scope();
  const Term rank(s, ops::Size(s, shape_of_like));
  const Output ones = ops::Fill(s, ops::Reshape(s, rank - 1.0, Ints(s, {1})), Int(s, 1));
  return Reshaped(vector, Joined(s, {ops::Shape(s, vector), ones}));
}

void SegmentSum(C& c) { c.Set(0, Rows(c.g(), c.x(1))); }

void SegmentMean(C& c) {
  const Scope& s = c.scope();
  const Output ones = ops::Fill(s, ops::Shape(s, c.x(1)), ScalarConst(s, c.g().dtype(), 1));
  // A segment without rows gets no gradient, so what it is divided by does not matter.
  const Term sizes(s, ops::SegmentSum(s, ones, c.x(1)));
  const Term divisor = AlongFirstAxis(c, Of(ops::Maximum, sizes, sizes.Number(1)), c.ShapeOfY(0));
  c.Set(0, Rows(c.g() / divisor, c.x(1)));
}

// The rows that equal their segment's extreme share its gradient.
void SegmentExtreme(C& c) {
  const Scope& s = c.scope();
  const Term wins(s, ops::Cast(s, ops::Equal(s, c.x(0), Rows(c.y(0), c.x(1))), c.g().dtype()));
  const Term count = Rows({s, ops::SegmentSum(s, wins, c.x(1))}, c.x(1));
  c.Set(0, wins * Rows(c.g(), c.x(1)) / count);
}

// For ids in any order, of any rank, of which negative ones are left out: the row of each id, zeros
// for those. `is_kept` has the shape of the data.
struct Gathered {
  Term rows;
  Term is_kept;
};
Gathered RowsOfIds(C& c, const Term& table) {
  const Scope& s = c.scope();
  const Output ids = CastTo(s, c.x(1), DType::kInt32);
  const Term zero(s, Int(s, 0));
  const Term rows = Rows(table, Of(ops::Maximum, Term(s, ids), zero));
  const Term kept = Of(ops::GreaterEqual, Term(s, ids), zero);
  // As many axes as the rows have.
  const Term missing(s, ops::Sub(s, ops::Rank(s, rows), ops::Rank(s, kept)));
  const Output ones = ops::Fill(s, ops::Reshape(s, missing, Ints(s, {1})), Int(s, 1));
  const Term wide = Reshaped(kept, Joined(s, {ops::Shape(s, kept), ones}));
  const Term all(s, ops::OnesLike(s, ops::Cast(s, rows, DType::kBool)));
  const Term is_kept = Of(ops::LogicalAnd, wide, all);
  return {{s, ops::SelectV2(s, is_kept, rows, ScalarConst(s, rows.dtype(), 0))}, is_kept};
}

void UnsortedSegmentSum(C& c) { c.Set(0, RowsOfIds(c, c.g()).rows); }

void UnsortedSegmentExtreme(C& c) {
  const Scope& s = c.scope();
  const Gathered best = RowsOfIds(c, c.y(0));
  const Output is_best = Of(ops::LogicalAnd, {s, ops::Equal(s, c.x(0), best.rows)}, best.is_kept);
  const Term wins(s, ops::Cast(s, is_best, c.g().dtype()));
  const Term count(s, ops::UnsortedSegmentSum(s, wins, c.x(1), c.x(2)));
  // Where no row wins, nothing is given to anybody.
  const Term share = Of(ops::DivNoNan, c.g(), count);
  c.Set(0, wins * RowsOfIds(c, share).rows);
}

// The product of the others: the whole by the element, or where that is 0, the product of those
// that are not 0, unless there is another 0.
void UnsortedSegmentProd(C& c) {
  const Scope& s = c.scope();
  const Term x = c.x(0), zero = x.Number(0);
  const Term is_zero(s, ops::Equal(s, x, zero));
  const Term zeros(
      s, ops::UnsortedSegmentSum(s, ops::Cast(s, is_zero, DType::kInt32), c.x(1), c.x(2)));
  const Term nonzero(s, ops::SelectV2(s, is_zero, x.Number(1), x));
  const Term product(s, ops::UnsortedSegmentProd(s, nonzero, c.x(1), c.x(2)));
  // With more zeros than its own, an element's slope is 0.
  const Term others = RowsOfIds(c, product).rows / nonzero;
  const Term zeros_here = RowsOfIds(c, zeros).rows;
  const Term own(s, ops::Cast(s, is_zero, DType::kInt32));
  const Output alone = ops::Equal(s, zeros_here, own);
  const Output slope = ops::SelectV2(s, alone, others, zero);
  c.Set(0, RowsOfIds(c, c.g()).rows * Term(s, slope));
}

// Of (data, indices, segment_ids[, num_segments]).
Output DataRows(C& c) { return VectorElement(c.scope(), c.ShapeOfX(0), 0); }
void SparseSegmentSum(C& c) {
  c.Set(0, ops::SparseSegmentSumGrad(c.scope(), c.g(), c.x(1), c.x(2), DataRows(c)));
}
void SparseSegmentMean(C& c) {
  c.Set(0, ops::SparseSegmentMeanGrad(c.scope(), c.g(), c.x(1), c.x(2), DataRows(c)));
}
void SparseSegmentSqrtN(C& c) {
  c.Set(0, ops::SparseSegmentSqrtNGrad(c.scope(), c.g(), c.x(1), c.x(2), DataRows(c)));
}

// Of (numbers, size, weights): each weight went to the bin of its number, of its row where there
// are several, and those of numbers that are not below size to none.
void DenseBincount(C& c) {
  if (c.Attr<bool>("binary_output")) return;
  const Scope& s = c.scope();
  const Term numbers(s, CastTo(s, c.x(0), DType::kInt32)),
      size(s, CastTo(s, c.x(1), DType::kInt32));
  const Term length(s, VectorElement(s, c.ShapeOfX(0), -1));
  const auto rows_of = [&](const Output& all, const Term& row) {
    return Of(ops::FloorDiv, Term(s, ops::Size(s, all)), Of(ops::Maximum, row, Term(s, Int(s, 1))));
  };
  const Term by_row =
      Reshaped(Of(ops::Minimum, numbers, size), ops::Pack(s, {rows_of(numbers, length), length}));
  const Term bins = Reshaped(c.g(), ops::Pack(s, {rows_of(c.g(), size), size}));
  // One bin more, of zeros.
  const Output padded = ops::Pad(s, bins, ops::Reshape(s, Ints(s, {0, 0, 0, 1}), Ints(s, {2, 2})));
  const Term picked(s, ops::GatherV2(s, padded, by_row, Int(s, 1), {.batch_dims = 1}));
  // There may be no weights at all.
  const Term shape = c.ShapeOfX(2);
  const Output count = ops::Reshape(s, ProductOf(shape), Ints(s, {1}));
  const Output flat = ops::Reshape(s, picked, Ints(s, {-1}));
  c.Set(2, ops::Reshape(s, ops::Slice(s, flat, Ints(s, {0}), count), shape));
}

}  // namespace

void RegisterSegmentGradients(GradientRegistry& registry) {
  registry.Add("SegmentSum", SegmentSum);
  registry.Add("SegmentMean", SegmentMean);
  registry.Add("SegmentMin", SegmentExtreme);
  registry.Add("SegmentMax", SegmentExtreme);
  registry.AddMissing("SegmentProd", "use UnsortedSegmentProd, which has one");
  registry.Add("UnsortedSegmentSum", UnsortedSegmentSum);
  registry.Add("UnsortedSegmentMin", UnsortedSegmentExtreme);
  registry.Add("UnsortedSegmentMax", UnsortedSegmentExtreme);
  registry.Add("UnsortedSegmentProd", UnsortedSegmentProd);
  for (const char* suffix : {"", "WithNumSegments"}) {
    registry.Add(absl::StrCat("SparseSegmentSum", suffix), SparseSegmentSum);
    registry.Add(absl::StrCat("SparseSegmentMean", suffix), SparseSegmentMean);
    registry.Add(absl::StrCat("SparseSegmentSqrtN", suffix), SparseSegmentSqrtN);
  }
  for (const char* kind : {"Sum", "Mean", "SqrtN"}) {
    for (const char* suffix : {"Grad", "GradV2"}) {
      registry.AddMissing(absl::StrCat("SparseSegment", kind, suffix),
                          "second derivatives of sparse segments are not there");
    }
  }
  registry.Add("DenseBincount", DenseBincount);
}

}  // namespace tensorfleet
