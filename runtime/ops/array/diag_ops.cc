// Ops about diagonals and bands of matrices.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"
#include "runtime/tensor/diagonals.h"

namespace tensorfleet {
namespace {

using shapes::Joined;
using shapes::Part;

constexpr int64_t kOpen = PartialShape::kUnknownDim;

Status DiagShape(ShapeContext& ctx) {
  ctx.set_output(0, Joined(ctx.input(0), ctx.input(0)));
  return OkStatus();
}

Status DiagPartShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank() || in.rank() == 0 || in.rank() % 2 != 0)
    return OkStatus();  // the kernel complains
  StatusOr<PartialShape> half =
      Part(in, 0, in.rank() / 2).MergedWith(Part(in, in.rank() / 2, in.rank()));
  if (half.ok()) ctx.set_output(0, *std::move(half));
  return OkStatus();
}

// The range of diagonals at input 1; {0, 0} for ops without one. Nothing when it is not known.
std::optional<DiagonalRange> RangeOf(const ShapeContext& ctx, int input) {
  if (ctx.num_inputs() == 1) return DiagonalRange();
  if (ctx.constant_input(input) == nullptr) return std::nullopt;
  const StatusOr<DiagonalRange> range = ReadDiagonalRange(*ctx.constant_input(input));
  if (!range.ok()) return std::nullopt;  // the kernel complains
  return *range;
}

Status MatrixDiagShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  const auto range = RangeOf(ctx, 1);
  if (!in.has_rank() || !range) return OkStatus();
  const int outer = in.rank() - (range->is_single() ? 1 : 2);
  if (outer < 0) return OkStatus();
  PartialShape matrix = PartialShape::UnknownOfRank(2);
  const bool has_sizes = ctx.num_inputs() > 1;
  const auto rows = has_sizes ? shapes::ConstantInteger(ctx, 2) : -1;
  const auto cols = has_sizes ? shapes::ConstantInteger(ctx, 3) : -1;
  if (rows && cols && in.has_dim(-1)) {
    const StatusOr<Shape> packed = range->is_single()
                                       ? Shape::Make({in.dim(-1)})
                                       : Shape::Make({range->upper - range->lower + 1, in.dim(-1)});
    TFLEET_RETURN_IF_ERROR(packed.status());
    const StatusOr<DiagonalBand> band = BandForDiagonals(*packed, *range, *rows, *cols);
    if (band.ok()) matrix = PartialShape({band->rows, band->cols});
  }
  ctx.set_output(0, Joined(Part(in, 0, outer), matrix));
  return OkStatus();
}

Status MatrixDiagPartShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 2));
  const auto range = RangeOf(ctx, 1);
  if (!in.has_rank() || !range) return OkStatus();
  PartialShape out = Part(in, 0, in.rank() - 2);
  if (!range->is_single()) out.AddDim(range->upper - range->lower + 1);
  int64_t longest = kOpen;
  if (in.has_dim(-1) && in.has_dim(-2)) {
    const StatusOr<DiagonalBand> band = BandOfMatrix(in.dim(-2), in.dim(-1), *range);
    if (band.ok()) longest = band->longest();
  }
  out.AddDim(longest);
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

constexpr char kDiagTypes[] =
    "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}";
constexpr char kAlign[] =
    "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'";

void RegisterMatrixDiag(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("MatrixDiag")
              .Input("diagonal: T")
              .Output("output: T")
              .Attr("T: type")
              .Shape(MatrixDiagShape)
              .Doc("Matrices with the given main diagonals."));
  ops.Add(OpSchemaBuilder("MatrixDiagPart")
              .Input("input: T")
              .Output("diagonal: T")
              .Attr("T: type")
              .Shape(MatrixDiagPartShape)
              .Doc("The main diagonals of matrices."));
  for (const bool v3 : {false, true}) {
    OpSchemaBuilder diag(v3 ? "MatrixDiagV3" : "MatrixDiagV2");
    diag.Input("diagonal: T")
        .Input("k: int32")
        .Input("num_rows: int32")
        .Input("num_cols: int32")
        .Input("padding_value: T")
        .Output("output: T")
        .Attr("T: type");
    if (v3) diag.Attr(kAlign);
    ops.Add(diag.Shape(MatrixDiagShape).Doc("Matrices with given diagonals, padding elsewhere."));
    OpSchemaBuilder part(v3 ? "MatrixDiagPartV3" : "MatrixDiagPartV2");
    part.Input("input: T")
        .Input("k: int32")
        .Input("padding_value: T")
        .Output("diagonal: T")
        .Attr("T: type");
    if (v3) part.Attr(kAlign);
    ops.Add(part.Shape(MatrixDiagPartShape)
                .Doc("Diagonals of matrices, padded to the length of the longest."));
  }
  ops.Add(OpSchemaBuilder("MatrixSetDiagV3")
              .Input("input: T")
              .Input("diagonal: T")
              .Input("k: int32")
              .Output("output: T")
              .Attr("T: type")
              .Attr(kAlign)
              .Shape(shapes::Unchanged)
              .Doc("Matrices with some diagonals replaced."));
  ops.Add(OpSchemaBuilder("BatchMatrixBandPart")
              .Input("input: T")
              .Input("num_lower: int64")
              .Input("num_upper: int64")
              .Output("band: T")
              .Attr("T: type")
              .Shape(shapes::Unchanged)
              .Doc("The old name of MatrixBandPart."));
  ops.Add(OpSchemaBuilder("BatchMatrixDiag")
              .Input("diagonal: T")
              .Output("output: T")
              .Attr("T: type")
              .Shape(MatrixDiagShape)
              .Doc("The old name of MatrixDiag."));
  ops.Add(OpSchemaBuilder("BatchMatrixDiagPart")
              .Input("input: T")
              .Output("diagonal: T")
              .Attr("T: type")
              .Shape(MatrixDiagPartShape)
              .Doc("The old name of MatrixDiagPart."));
  ops.Add(OpSchemaBuilder("BatchMatrixSetDiag")
              .Input("input: T")
              .Input("diagonal: T")
              .Output("output: T")
              .Attr("T: type")
              .Shape(shapes::Unchanged)
              .Doc("The old name of MatrixSetDiag."));
  ops.Add(OpSchemaBuilder("MatrixSetDiag")
              .Input("input: T")
              .Input("diagonal: T")
              .Output("output: T")
              .Attr("T: type")
              .Shape(shapes::Unchanged)
              .Doc("Matrices with other main diagonals."));
  ops.Add(OpSchemaBuilder("MatrixSetDiagV2")
              .Input("input: T")
              .Input("diagonal: T")
              .Input("k: int32")
              .Output("output: T")
              .Attr("T: type")
              .Shape(shapes::Unchanged)
              .Doc("Matrices with other diagonals."));
}

}  // namespace

void RegisterDiagOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Diag")
              .Input("diagonal: T")
              .Output("output: T")
              .Attr(kDiagTypes)
              .Shape(DiagShape)
              .Doc("A tensor of twice the rank with the input on its diagonal, zeros elsewhere."));
  ops.Add(OpSchemaBuilder("DiagPart")
              .Input("input: T")
              .Output("diagonal: T")
              .Attr(kDiagTypes)
              .Shape(DiagPartShape)
              .Doc("The diagonal of a tensor whose shape is the same twice over."));
  RegisterMatrixDiag(ops);
  ops.Add(OpSchemaBuilder("MatrixBandPart")
              .Input("input: T")
              .Input("num_lower: Tindex")
              .Input("num_upper: Tindex")
              .Output("band: T")
              .Attr("T: type")
              .Attr("Tindex: {int32, int64} = DT_INT64")
              .Shape(shapes::Unchanged)
              .Doc("Keeps some diagonals below and above the main one, zeros elsewhere."));
}

}  // namespace tensorfleet
