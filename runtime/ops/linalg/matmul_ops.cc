// Matrix products and decompositions.
#include <algorithm>

#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status MatMulShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  TFLEET_ASSIGN_OR_RETURN(const bool transpose_a, ctx.Attr<bool>("transpose_a"));
  TFLEET_ASSIGN_OR_RETURN(const bool transpose_b, ctx.Attr<bool>("transpose_b"));
  const PartialShape& a = ctx.input(0);
  const PartialShape& b = ctx.input(1);
  PartialShape out = PartialShape::UnknownOfRank(2);
  if (a.has_rank() && b.has_rank()) {
    TFLEET_RETURN_IF_ERROR(
        shapes::MergeDims(a.dim(transpose_a ? 0 : 1), b.dim(transpose_b ? 1 : 0)).status());
  }
  if (a.has_rank()) out.set_dim(0, a.dim(transpose_a ? 1 : 0));
  if (b.has_rank()) out.set_dim(1, b.dim(transpose_b ? 0 : 1));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

PartialShape WithoutLastTwo(const PartialShape& shape) {
  return PartialShape(shape.dims().subspan(0, shape.rank() - 2));
}

Status BatchMatMulShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(1, 2));
  TFLEET_ASSIGN_OR_RETURN(const bool adj_x, ctx.Attr<bool>("adj_x"));
  TFLEET_ASSIGN_OR_RETURN(const bool adj_y, ctx.Attr<bool>("adj_y"));
  const PartialShape& x = ctx.input(0);
  const PartialShape& y = ctx.input(1);
  if (!x.has_rank() || !y.has_rank()) return OkStatus();
  TFLEET_RETURN_IF_ERROR(
      shapes::MergeDims(x.dim(adj_x ? -2 : -1), y.dim(adj_y ? -1 : -2)).status());
  TFLEET_ASSIGN_OR_RETURN(PartialShape out,
                          shapes::BroadcastPartial(WithoutLastTwo(x), WithoutLastTwo(y)));
  out.AddDim(x.dim(adj_x ? -1 : -2));
  out.AddDim(y.dim(adj_y ? -2 : -1));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status QrShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 2));
  TFLEET_ASSIGN_OR_RETURN(const bool full, ctx.Attr<bool>("full_matrices"));
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  const int64_t m = in.dim(-2), n = in.dim(-1);
  int64_t p = m;
  if (!full) p = (m < 0 || n < 0) ? PartialShape::kUnknownDim : std::min(m, n);
  PartialShape q = WithoutLastTwo(in), r = WithoutLastTwo(in);
  q.AddDim(m);
  q.AddDim(p);
  r.AddDim(p);
  r.AddDim(n);
  ctx.set_output(0, std::move(q));
  ctx.set_output(1, std::move(r));
  return OkStatus();
}

}  // namespace

void RegisterMatMulOps(OpRegistry& ops) {
  ops.Add(
      OpSchemaBuilder("MatMul")
          .Input("a: T")
          .Input("b: T")
          .Output("product: T")
          .Attr("transpose_a: bool = false")
          .Attr("transpose_b: bool = false")
          .Attr("T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, "
                "complex64, complex128}")
          .Shape(MatMulShape)
          .Doc("The product of two matrices, each transposed first if asked for."));
  ops.Add(OpSchemaBuilder("_FusedMatMul")
              .Input("a: T")
              .Input("b: T")
              .Input("args: num_args * T")
              .Output("product: T")
              .Attr("transpose_a: bool = false")
              .Attr("transpose_b: bool = false")
              .Attr("T: {bfloat16, half, float}")
              .Attr("num_args: int >= 0")
              .Attr("fused_ops: list(string) = []")
              .Attr("epsilon: float = 0.0001")
              .Attr("leakyrelu_alpha: float = 0.2")
              .Shape(MatMulShape)
              .Doc("MatMul, BiasAdd and an activation in one, as graph optimisers make it."));
  ops.Add(
      OpSchemaBuilder("BatchMatMul")
          .Input("x: T")
          .Input("y: T")
          .Output("output: T")
          .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
          .Attr("adj_x: bool = false")
          .Attr("adj_y: bool = false")
          .Shape(BatchMatMulShape)
          .Doc("The products of the matrices in the last two dimensions; the others are equal."));
  ops.Add(
      OpSchemaBuilder("BatchMatMulV2")
          .Input("x: T")
          .Input("y: T")
          .Output("output: T")
          .Attr("T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, "
                "uint64, "
                "complex64, complex128}")
          .Attr("adj_x: bool = false")
          .Attr("adj_y: bool = false")
          .Shape(BatchMatMulShape)
          .Doc("The products of the matrices in the last two dimensions; the others broadcast."));
  ops.Add(
      OpSchemaBuilder("BatchMatMulV3")
          .Input("x: Ta")
          .Input("y: Tb")
          .Output("output: Tout")
          .Attr("Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
                "complex128}")
          .Attr("Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
                "complex128}")
          .Attr("Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, complex128}")
          .Attr("adj_x: bool = false")
          .Attr("adj_y: bool = false")
          .Shape(BatchMatMulShape)
          .Doc("BatchMatMulV2 of tensors whose types may differ."));
  ops.Add(OpSchemaBuilder("Qr")
              .Input("input: T")
              .Output("q: T")
              .Output("r: T")
              .Attr("full_matrices: bool = false")
              .Attr("T: {double, float, half, complex64, complex128}")
              .Shape(QrShape)
              .Doc("The QR decompositions of the matrices in the last two dimensions."));
}

}  // namespace tensorfleet
