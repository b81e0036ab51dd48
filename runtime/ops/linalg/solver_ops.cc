// Systems of equations of special form. Kernels: runtime/kernels/cpu/linalg/solvers.cc and
// linear_algebra.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/linalg/matrix_shapes.h"

namespace tensorfleet {
namespace {

// A system with one matrix for each right-hand side: `matrix` has the outer dimensions of `rhs`.
Status LeastSquaresShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(1, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 0));
  const PartialShape &a = ctx.input(0), &b = ctx.input(1);
  if (!a.has_rank() || !b.has_rank()) return OkStatus();
  TFLEET_RETURN_IF_ERROR(shapes::MergeDims(a.dim(-2), b.dim(-2)).status());
  TFLEET_ASSIGN_OR_RETURN(
      PartialShape out,
      shapes::Part(a, 0, a.rank() - 2).MergedWith(shapes::Part(b, 0, b.rank() - 2)));
  out.AddDim(a.dim(-1));
  out.AddDim(b.dim(-1));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status BandedShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(1, 2));
  const PartialShape &a = ctx.input(0), &b = ctx.input(1);
  if (!a.has_rank() || !b.has_rank()) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(const int64_t n, shapes::MergeDims(a.dim(-1), b.dim(-2)));
  TFLEET_ASSIGN_OR_RETURN(
      PartialShape out,
      shapes::BroadcastPartial(shapes::Part(a, 0, a.rank() - 2), shapes::Part(b, 0, b.rank() - 2)));
  out.AddDim(n);
  out.AddDim(b.dim(-1));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status SolutionShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(shapes::CheckSquare(ctx));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(1, 2));
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

template <int kInput>
Status LikeInput(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(kInput, 2));
  ctx.set_output(0, ctx.input(kInput));
  return OkStatus();
}

}  // namespace

void RegisterSolverOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("BandedTriangularSolve")
              .Input("matrix: T")
              .Input("rhs: T")
              .Output("output: T")
              .Attr("lower: bool = true")
              .Attr("adjoint: bool = false")
              .Attr("T: {double, float, half, complex64, complex128}")
              .Shape(BandedShape)
              .Doc("x of matrix x = rhs, where only the diagonals of a triangle that are not zero "
                   "are given, one a row."));
  ops.Add(OpSchemaBuilder("BatchMatrixSolve")
              .Input("matrix: T")
              .Input("rhs: T")
              .Output("output: T")
              .Attr("adjoint: bool = false")
              .Attr("T: {double, float}")
              .Shape(SolutionShape)
              .Doc("The old name of MatrixSolve."));
  ops.Add(OpSchemaBuilder("BatchMatrixSolveLs")
              .Input("matrix: T")
              .Input("rhs: T")
              .Input("l2_regularizer: double")
              .Output("output: T")
              .Attr("T: {double, float}")
              .Attr("fast: bool = true")
              .Shape(LeastSquaresShape)
              .Doc("The old name of MatrixSolveLs."));
  ops.Add(OpSchemaBuilder("BatchMatrixTriangularSolve")
              .Input("matrix: T")
              .Input("rhs: T")
              .Output("output: T")
              .Attr("lower: bool = true")
              .Attr("adjoint: bool = false")
              .Attr("T: {double, float}")
              .Shape(SolutionShape)
              .Doc("The old name of MatrixTriangularSolve."));
  ops.Add(OpSchemaBuilder("MatrixSolveLs")
              .Input("matrix: T")
              .Input("rhs: T")
              .Input("l2_regularizer: double")
              .Output("output: T")
              .Attr("T: {double, float, half, complex64, complex128}")
              .Attr("fast: bool = true")
              .Shape(LeastSquaresShape)
              .Doc("x for which matrix x is nearest to rhs; by the normal equations or, unless "
                   "fast, by an orthogonal decomposition."));
  ops.Add(OpSchemaBuilder("TridiagonalMatMul")
              .Input("superdiag: T")
              .Input("maindiag: T")
              .Input("subdiag: T")
              .Input("rhs: T")
              .Output("output: T")
              .Attr("T: {double, float, complex64, complex128}")
              .Shape(LikeInput<3>)
              .Doc("A matrix of three diagonals times another matrix."));
  ops.Add(
      OpSchemaBuilder("TridiagonalSolve")
          .Input("diagonals: T")
          .Input("rhs: T")
          .Output("output: T")
          .Attr("partial_pivoting: bool = true")
          .Attr("perturb_singular: bool = false")
          .Attr("T: {double, float, complex64, complex128}")
          .Shape(LikeInput<1>)
          .Doc(
              "x of matrix x = rhs, where the matrix has three diagonals: above, main and below."));
}

}  // namespace tensorfleet
