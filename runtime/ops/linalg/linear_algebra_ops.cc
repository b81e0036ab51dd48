// Square matrices in the last two dimensions: decompositions, inverses, systems of equations.
// Kernels: runtime/kernels/cpu/linalg/linear_algebra.cc.
#include "runtime/ops/linalg/matrix_shapes.h"

namespace tensorfleet {
namespace {

using shapes::CheckSquare;
using shapes::SquareUnchanged;

Status OnePerMatrix(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckSquare(ctx));
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  PartialShape out({});
  for (int i = 0; i + 2 < in.rank(); ++i) out.AddDim(in.dim(i));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// A solution has the shape of the right-hand side.
Status SolutionShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckSquare(ctx));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(1, 2));
  const PartialShape &matrix = ctx.input(0), &rhs = ctx.input(1);
  if (!matrix.has_rank() || !rhs.has_rank() || matrix.rank() != rhs.rank()) return OkStatus();
  TFLEET_RETURN_IF_ERROR(shapes::MergeDims(matrix.dim(-1), rhs.dim(-2)).status());
  ctx.set_output(0, rhs);
  return OkStatus();
}

constexpr char kTypes[] = "T: {double, float, half, complex64, complex128}";

}  // namespace

void RegisterLinearAlgebraOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Cholesky")
              .Input("input: T")
              .Output("output: T")
              .Attr(kTypes)
              .Shape(SquareUnchanged)
              .Doc("The lower triangle whose product with its adjoint is the input, of which only "
                   "the lower half is read."));
  ops.Add(OpSchemaBuilder("MatrixInverse")
              .Input("input: T")
              .Output("output: T")
              .Attr("adjoint: bool = false")
              .Attr(kTypes)
              .Shape(SquareUnchanged)
              .Doc("The inverse, or that of the adjoint."));
  ops.Add(OpSchemaBuilder("MatrixDeterminant")
              .Input("input: T")
              .Output("output: T")
              .Attr(kTypes)
              .Shape(OnePerMatrix)
              .Doc("The determinant of each matrix."));
  ops.Add(OpSchemaBuilder("MatrixSolve")
              .Input("matrix: T")
              .Input("rhs: T")
              .Output("output: T")
              .Attr("adjoint: bool = false")
              .Attr(kTypes)
              .Shape(SolutionShape)
              .Doc("x of matrix x = rhs, or of adjoint(matrix) x = rhs."));
  ops.Add(OpSchemaBuilder("MatrixTriangularSolve")
              .Input("matrix: T")
              .Input("rhs: T")
              .Output("output: T")
              .Attr("lower: bool = true")
              .Attr("adjoint: bool = false")
              .Attr("T: {bfloat16, double, float, half, complex64, complex128}")
              .Shape(SolutionShape)
              .Doc("x of matrix x = rhs, where only one triangle of the matrix is read."));
}

}  // namespace tensorfleet
