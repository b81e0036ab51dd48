// Sparse tensors: indices [n, rank], values [n] and a dense shape [rank]. Kernels:
// runtime/kernels/cpu/sparse/sparse_*.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;
constexpr char kReals[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";

using shapes::VectorOf;

int64_t DimOf(const PartialShape& shape, int d) {
  return shape.has_rank() && d < shape.rank() ? shape.dim(d) : kOpen;
}

// Indices, values and shape are a matrix, a vector and a vector.
Status RequireSparse(ShapeContext& ctx, int first) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(first, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(first + 1, 1));
  return ctx.RequireRank(first + 2, 1);
}

// Outputs 0 to 2 are `entries` entries of `rank` dimensions; the last of them only where there is
// a third output.
void SetSparse(ShapeContext& ctx, int64_t entries, int64_t rank) {
  ctx.set_output(0, PartialShape({entries, rank}));
  ctx.set_output(1, VectorOf(entries));
  if (ctx.num_outputs() > 2) ctx.set_output(2, VectorOf(rank));
}

Status SparseToDenseShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(3, 0));
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(1));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status SparseTensorDenseMatMulShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 0));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(3, 2));
  TFLEET_ASSIGN_OR_RETURN(const bool adjoint_a, ctx.Attr<bool>("adjoint_a"));
  TFLEET_ASSIGN_OR_RETURN(const bool adjoint_b, ctx.Attr<bool>("adjoint_b"));
  TFLEET_ASSIGN_OR_RETURN(const PartialShape a, ctx.InputAsShape(2));
  ctx.set_output(
      0, PartialShape({DimOf(a, adjoint_a ? 1 : 0), DimOf(ctx.input(3), adjoint_b ? 0 : 1)}));
  return OkStatus();
}

Status SparseMatMulShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  TFLEET_ASSIGN_OR_RETURN(const bool transpose_a, ctx.Attr<bool>("transpose_a"));
  TFLEET_ASSIGN_OR_RETURN(const bool transpose_b, ctx.Attr<bool>("transpose_b"));
  ctx.set_output(0, PartialShape({DimOf(ctx.input(0), transpose_a ? 1 : 0),
                                  DimOf(ctx.input(1), transpose_b ? 0 : 1)}));
  return OkStatus();
}

Status SparseFillEmptyRowsShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 0));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(3, 0));
  TFLEET_ASSIGN_OR_RETURN(const PartialShape dense, ctx.InputAsShape(2));
  SetSparse(ctx, kOpen, DimOf(ctx.input(0), 1));
  ctx.set_output(2, VectorOf(DimOf(dense, 0)));
  ctx.set_output(3, VectorOf(DimOf(ctx.input(0), 0)));
  return OkStatus();
}

Status SparseFillEmptyRowsGradShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  ctx.set_output(0, ctx.input(0));
  ctx.set_output(1, shapes::ScalarShape());
  return OkStatus();
}

Status SparseReshapeShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 1));
  const int64_t rank = DimOf(ctx.input(2), 0);
  ctx.set_output(0, PartialShape({DimOf(ctx.input(0), 0), rank}));
  ctx.set_output(1, VectorOf(rank));
  return OkStatus();
}

Status SparseReorderShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 0));
  SetSparse(ctx, DimOf(ctx.input(0), 0), DimOf(ctx.input(0), 1));
  return OkStatus();
}

Status SparseConcatShape(ShapeContext& ctx) {
  const int parts = ctx.num_inputs() / 3;
  int64_t entries = 0;
  for (int p = 0; p < parts; ++p) {
    TFLEET_RETURN_IF_ERROR(ctx.RequireRank(p, 2));
    entries = shapes::AddDims(entries, DimOf(ctx.input(p), 0));
  }
  SetSparse(ctx, entries, DimOf(ctx.input(0), 1));
  return OkStatus();
}

// As many entries as turn out; the rank is input 0's.
Status OpenEntriesShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 0));
  SetSparse(ctx, kOpen, DimOf(ctx.input(0), 1));
  return OkStatus();
}

Status SparseReduceShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 0));
  return OkStatus();
}

Status SparseSoftmaxShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 0));
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

Status SparseAddGradShape(ShapeContext& ctx) {
  for (const int i : {1, 2}) {
    TFLEET_RETURN_IF_ERROR(ctx.RequireRank(i, 2));
    ctx.set_output(i - 1, VectorOf(DimOf(ctx.input(i), 0)));
  }
  return OkStatus();
}

OpSchemaBuilder SparseOutputs(const char* name) {
  return OpSchemaBuilder(name).Output("output_indices: int64").Output("output_values: T");
}

void RegisterConversions(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("SparseToDense")
              .Input("sparse_indices: Tindices")
              .Input("output_shape: Tindices")
              .Input("sparse_values: T")
              .Input("default_value: T")
              .Output("dense: T")
              .Attr("validate_indices: bool = true")
              .Attr("T: type")
              .Attr("Tindices: {int32, int64}")
              .Shape(SparseToDenseShape)
              .Doc("A dense tensor of the default value with the given values at the indices."));
  ops.Add(OpSchemaBuilder("SparseTensorDenseMatMul")
              .Input("a_indices: Tindices")
              .Input("a_values: T")
              .Input("a_shape: int64")
              .Input("b: T")
              .Output("product: T")
              .Attr("T: type")
              .Attr("Tindices: {int32, int64} = DT_INT64")
              .Attr("adjoint_a: bool = false")
              .Attr("adjoint_b: bool = false")
              .Shape(SparseTensorDenseMatMulShape)
              .Doc("The product of a sparse and a dense matrix."));
  ops.Add(OpSchemaBuilder("SparseMatMul")
              .Input("a: Ta")
              .Input("b: Tb")
              .Output("product: float")
              .Attr("transpose_a: bool = false")
              .Attr("transpose_b: bool = false")
              .Attr("a_is_sparse: bool = false")
              .Attr("b_is_sparse: bool = false")
              .Attr("Ta: {float, bfloat16} = DT_FLOAT")
              .Attr("Tb: {float, bfloat16} = DT_FLOAT")
              .Shape(SparseMatMulShape)
              .Doc("The product of two dense matrices that may hold many zeros."));
}

void RegisterEdits(OpRegistry& ops) {
  ops.Add(SparseOutputs("SparseFillEmptyRows")
              .Input("indices: int64")
              .Input("values: T")
              .Input("dense_shape: int64")
              .Input("default_value: T")
              .Output("empty_row_indicator: bool")
              .Output("reverse_index_map: int64")
              .Attr("T: type")
              .Shape(SparseFillEmptyRowsShape)
              .Doc("Gives every row without entries one with the default value in its first place. "
                   "Also says which rows those were, and where each entry went."));
  ops.Add(OpSchemaBuilder("SparseFillEmptyRowsGrad")
              .Input("reverse_index_map: int64")
              .Input("grad_values: T")
              .Output("d_values: T")
              .Output("d_default_value: T")
              .Attr("T: type")
              .Shape(SparseFillEmptyRowsGradShape)
              .Doc("The gradient of SparseFillEmptyRows."));
  ops.Add(OpSchemaBuilder("SparseReshape")
              .Input("input_indices: int64")
              .Input("input_shape: int64")
              .Input("new_shape: int64")
              .Output("output_indices: int64")
              .Output("output_shape: int64")
              .Shape(SparseReshapeShape)
              .Doc("The same entries in a tensor of another shape; one dimension may be -1."));
  ops.Add(SparseOutputs("SparseReorder")
              .Input("input_indices: int64")
              .Input("input_values: T")
              .Input("input_shape: int64")
              .Attr("T: type")
              .Shape(SparseReorderShape)
              .Doc("The entries sorted by their indices."));
  ops.Add(SparseOutputs("SparseConcat")
              .Input("indices: N * int64")
              .Input("values: N * T")
              .Input("shapes: N * int64")
              .Output("output_shape: int64")
              .Attr("concat_dim: int")
              .Attr("N: int >= 2")
              .Attr("T: type")
              .Shape(SparseConcatShape)
              .Doc("Sparse tensors one after another along a dimension, sorted."));
  ops.Add(SparseOutputs("SparseSlice")
              .Input("indices: int64")
              .Input("values: T")
              .Input("shape: int64")
              .Input("start: int64")
              .Input("size: int64")
              .Output("output_shape: int64")
              .Attr("T: type")
              .Shape(OpenEntriesShape)
              .Doc("The part of a sparse tensor from `start` on, of at most `size`."));
}

void RegisterSparseMath(OpRegistry& ops) {
  for (const bool is_max : {false, true}) {
    ops.Add(OpSchemaBuilder(is_max ? "SparseReduceMax" : "SparseReduceSum")
                .Input("input_indices: int64")
                .Input("input_values: T")
                .Input("input_shape: int64")
                .Input("reduction_axes: int32")
                .Output("output: T")
                .Attr("keep_dims: bool = false")
                .Attr(is_max ? kReals : "T: numbertype")
                .Shape(SparseReduceShape)
                .Doc(is_max ? "The largest entry along axes, 0 where there is none; dense."
                            : "The sum of the entries along axes; dense."));
  }
  ops.Add(OpSchemaBuilder("SparseSoftmax")
              .Input("sp_indices: int64")
              .Input("sp_values: T")
              .Input("sp_shape: int64")
              .Output("output: T")
              .Attr("T: {half, float, double}")
              .Shape(SparseSoftmaxShape)
              .Doc("Softmax along the last dimension, over the entries that there are."));
  ops.Add(OpSchemaBuilder("SparseAdd")
              .Input("a_indices: int64")
              .Input("a_values: T")
              .Input("a_shape: int64")
              .Input("b_indices: int64")
              .Input("b_values: T")
              .Input("b_shape: int64")
              .Input("thresh: Treal")
              .Output("sum_indices: int64")
              .Output("sum_values: T")
              .Output("sum_shape: int64")
              .Attr("T: numbertype")
              .Attr("Treal: realnumbertype")
              .Shape(OpenEntriesShape)
              .Doc("The sum of two sparse tensors whose indices are sorted. Where both have an "
                   "entry and "
                   "the sum is smaller than the threshold there is none."));
  ops.Add(OpSchemaBuilder("SparseAddGrad")
              .Input("backprop_val_grad: T")
              .Input("a_indices: int64")
              .Input("b_indices: int64")
              .Input("sum_indices: int64")
              .Output("a_val_grad: T")
              .Output("b_val_grad: T")
              .Attr("T: numbertype")
              .Shape(SparseAddGradShape)
              .Doc("The gradient of SparseAdd for the values of its operands."));
}

}  // namespace

void RegisterSparseOps(OpRegistry& ops) {
  RegisterConversions(ops);
  RegisterEdits(ops);
  RegisterSparseMath(ops);
}

}  // namespace tensorfleet
