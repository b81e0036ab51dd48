// Decompositions and functions of matrices. Kernels: runtime/kernels/cpu/linalg: svd.cc,
// eigenvalues.cc, triangular_factors.cc, matrix_functions.cc, cross.cc and linear_algebra.cc.
#include <algorithm>

#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/linalg/matrix_shapes.h"

namespace tensorfleet {
namespace {

using shapes::CheckSquare;
using shapes::SquareUnchanged;

constexpr int64_t kOpen = PartialShape::kUnknownDim;

PartialShape Outer(const PartialShape& matrices) {
  return shapes::Part(matrices, 0, matrices.rank() - 2);
}

PartialShape With(PartialShape shape, std::initializer_list<int64_t> tail) {
  for (const int64_t dim : tail) shape.AddDim(dim);
  return shape;
}

Status SvdShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 2));
  TFLEET_ASSIGN_OR_RETURN(const bool computes_uv, ctx.Attr<bool>("compute_uv"));
  TFLEET_ASSIGN_OR_RETURN(const bool is_full, ctx.Attr<bool>("full_matrices"));
  if (!computes_uv) {
    ctx.set_output(1, shapes::VectorOf(0));
    ctx.set_output(2, shapes::VectorOf(0));
  }
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  const int64_t m = in.dim(-2), n = in.dim(-1);
  const int64_t p = m < 0 || n < 0 ? kOpen : std::min(m, n);
  ctx.set_output(0, With(Outer(in), {p}));
  if (computes_uv) {
    ctx.set_output(1, With(Outer(in), {m, is_full ? m : p}));
    ctx.set_output(2, With(Outer(in), {n, is_full ? n : p}));
  }
  return OkStatus();
}

Status EigShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckSquare(ctx));
  TFLEET_ASSIGN_OR_RETURN(const bool computes_v, ctx.Attr<bool>("compute_v"));
  const PartialShape& in = ctx.input(0);
  if (in.has_rank()) ctx.set_output(0, With(Outer(in), {in.dim(-1)}));
  ctx.set_output(1, computes_v ? in : shapes::VectorOf(0));
  return OkStatus();
}

Status EigV1Shape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckSquare(ctx));
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  const int64_t n = in.dim(-1);
  ctx.set_output(0, With(Outer(in), {n < 0 ? kOpen : n + 1, n}));
  return OkStatus();
}

Status LuShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckSquare(ctx));
  const PartialShape& in = ctx.input(0);
  ctx.set_output(0, in);
  if (in.has_rank()) ctx.set_output(1, With(Outer(in), {in.dim(-1)}));
  return OkStatus();
}

Status LogDeterminantShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckSquare(ctx));
  if (!ctx.input(0).has_rank()) return OkStatus();
  ctx.set_output(0, Outer(ctx.input(0)));
  ctx.set_output(1, Outer(ctx.input(0)));
  return OkStatus();
}

Status DeterminantShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckSquare(ctx));
  if (ctx.input(0).has_rank()) ctx.set_output(0, Outer(ctx.input(0)));
  return OkStatus();
}

Status CrossShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  TFLEET_ASSIGN_OR_RETURN(PartialShape both, ctx.input(0).MergedWith(ctx.input(1)));
  if (both.has_rank() && both.has_dim(-1) && both.dim(-1) != 3) {
    return InvalidArgument("Cross-products are only defined for 3-element vectors, not ",
                           both.dim(-1));
  }
  ctx.set_output(0, std::move(both));
  return OkStatus();
}

}  // namespace

void RegisterDecompositionOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("BatchCholesky")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: {double, float}")
              .Shape(SquareUnchanged)
              .Doc("The old name of Cholesky."));
  ops.Add(OpSchemaBuilder("BatchCholeskyGrad")
              .Input("l: T")
              .Input("grad: T")
              .Output("output: T")
              .Attr("T: {float, double}")
              .Shape(SquareUnchanged)
              .Doc("The old name of CholeskyGrad."));
  ops.Add(OpSchemaBuilder("BatchMatrixDeterminant")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: {float, double, complex64, complex128}")
              .Shape(DeterminantShape)
              .Doc("The old name of MatrixDeterminant."));
  ops.Add(OpSchemaBuilder("BatchMatrixInverse")
              .Input("input: T")
              .Output("output: T")
              .Attr("adjoint: bool = false")
              .Attr("T: {double, float}")
              .Shape(SquareUnchanged)
              .Doc("The old name of MatrixInverse."));
  ops.Add(OpSchemaBuilder("BatchSelfAdjointEig")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: {double, float}")
              .Shape(EigV1Shape)
              .Doc("The old name of SelfAdjointEig."));
  ops.Add(OpSchemaBuilder("BatchSelfAdjointEigV2")
              .Input("input: T")
              .Output("e: T")
              .Output("v: T")
              .Attr("compute_v: bool = true")
              .Attr("T: {double, float}")
              .Shape(EigShape)
              .Doc("The old name of SelfAdjointEigV2."));
  ops.Add(OpSchemaBuilder("BatchSvd")
              .Input("input: T")
              .Output("s: T")
              .Output("u: T")
              .Output("v: T")
              .Attr("compute_uv: bool = true")
              .Attr("full_matrices: bool = false")
              .Attr("T: {double, float, complex64, complex128}")
              .Shape(SvdShape)
              .Doc("The old name of Svd."));
  ops.Add(OpSchemaBuilder("CholeskyGrad")
              .Input("l: T")
              .Input("grad: T")
              .Output("output: T")
              .Attr("T: {half, float, double}")
              .Shape(SquareUnchanged)
              .Doc("The gradient of Cholesky, from its result and the gradient that comes in."));
  ops.Add(OpSchemaBuilder("Cross")
              .Input("a: T")
              .Input("b: T")
              .Output("product: T")
              .Attr("T: realnumbertype")
              .Shape(CrossShape)
              .Doc("The cross products of vectors of three elements."));
  ops.Add(
      OpSchemaBuilder("Eig")
          .Input("input: T")
          .Output("e: Tout")
          .Output("v: Tout")
          .Attr("compute_v: bool = true")
          .Attr("T: {float, double, complex64, complex128}")
          .Attr("Tout: {complex64, complex128}")
          .Shape(EigShape)
          .Doc(
              "The eigenvalues of square matrices and, with compute_v, their vectors as columns."));
  ops.Add(OpSchemaBuilder("LogMatrixDeterminant")
              .Input("input: T")
              .Output("sign: T")
              .Output("log_abs_determinant: T")
              .Attr("T: {half, float, double, complex64, complex128}")
              .Shape(LogDeterminantShape)
              .Doc("The sign of each determinant and the logarithm of its absolute value."));
  ops.Add(OpSchemaBuilder("Lu")
              .Input("input: T")
              .Output("lu: T")
              .Output("p: output_idx_type")
              .Attr("T: {double, float, half, complex64, complex128}")
              .Attr("output_idx_type: {int32, int64} = DT_INT32")
              .Shape(LuShape)
              .Doc("The triangular factors of each matrix in one matrix, and the order of its rows "
                   "in them."));
  ops.Add(OpSchemaBuilder("MatrixExponential")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: {double, float, half, complex64, complex128}")
              .Shape(SquareUnchanged)
              .Doc("The exponential of each matrix."));
  ops.Add(OpSchemaBuilder("MatrixLogarithm")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: {complex64, complex128}")
              .Shape(SquareUnchanged)
              .Doc("The logarithm of each matrix."));
  ops.Add(OpSchemaBuilder("MatrixSquareRoot")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: {double, float, half, complex64, complex128}")
              .Shape(SquareUnchanged)
              .Doc("The square root of each matrix."));
  ops.Add(OpSchemaBuilder("SelfAdjointEig")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: {double, float, half}")
              .Shape(EigV1Shape)
              .Doc("The eigenvalues of self-adjoint matrices as a row above their vectors."));
  ops.Add(OpSchemaBuilder("SelfAdjointEigV2")
              .Input("input: T")
              .Output("e: T")
              .Output("v: T")
              .Attr("compute_v: bool = true")
              .Attr("T: {double, float, half, complex64, complex128}")
              .Shape(EigShape)
              .Doc("The eigenvalues of self-adjoint matrices in rising order and, with compute_v, "
                   "their vectors as columns."));
  ops.Add(OpSchemaBuilder("Svd")
              .Input("input: T")
              .Output("s: T")
              .Output("u: T")
              .Output("v: T")
              .Attr("compute_uv: bool = true")
              .Attr("full_matrices: bool = false")
              .Attr("T: {double, float, half, complex64, complex128}")
              .Shape(SvdShape)
              .Doc("The singular values of each matrix in falling order and, with compute_uv, the "
                   "vectors of both sides."));
}

}  // namespace tensorfleet
