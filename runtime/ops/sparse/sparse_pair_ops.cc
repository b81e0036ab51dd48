// Sparse tensors beside dense and other sparse ones, reduced to sparse ones, and in parts. Kernels:
// runtime/kernels/cpu/sparse/sparse_with_dense.cc, sparse_math.cc, sparse_reduce.cc and
// sparse_split.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;
constexpr char kReals[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";

Status RequireSparse(ShapeContext& ctx, int first) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(first, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(first + 1, 1));
  return ctx.RequireRank(first + 2, 1);
}

Status WithDenseShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 0));
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

Status DenseAddShape(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(3));
  return OkStatus();
}

Status SparsePairShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 0));
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 3));
  ctx.set_output(0, PartialShape({kOpen, kOpen}));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  return OkStatus();
}

Status ReduceShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx, 0));
  ctx.set_output(0, PartialShape({kOpen, kOpen}));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  ctx.set_output(2, shapes::VectorOf(kOpen));
  return OkStatus();
}

Status SplitShape(ShapeContext& ctx) {
  const PartialShape& shape = ctx.input(3);
  const int64_t rank =
      shape.has_rank() && shape.rank() == 1 && shape.has_dim(0) ? shape.dim(0) : kOpen;
  const int parts = ctx.num_outputs() / 3;
  for (int p = 0; p < parts; ++p) {
    ctx.set_output(p, PartialShape({kOpen, rank}));
    ctx.set_output(parts + p, shapes::VectorOf(kOpen));
    ctx.set_output(2 * parts + p, shapes::VectorOf(rank));
  }
  return OkStatus();
}

Status SliceGradShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  const PartialShape& indices = ctx.input(1);
  ctx.set_output(0, shapes::VectorOf(indices.has_rank() ? indices.dim(0) : kOpen));
  return OkStatus();
}

void RegisterPairs(OpRegistry& ops) {
  constexpr const char* kCwise[][2] = {
      {"SparseDenseCwiseAdd", "The entries plus what a dense tensor, broadcast, has there."},
      {"SparseDenseCwiseMul", "The entries times what a dense tensor, broadcast, has there."},
      {"SparseDenseCwiseDiv", "The entries divided by what a dense tensor, broadcast, has there."}};
  for (const auto& [name, doc] : kCwise) {
    ops.Add(OpSchemaBuilder(name)
                .Input("sp_indices: int64")
                .Input("sp_values: T")
                .Input("sp_shape: int64")
                .Input("dense: T")
                .Output("output: T")
                .Attr("T: numbertype")
                .Shape(WithDenseShape)
                .Doc(doc));
  }
  ops.Add(OpSchemaBuilder("SparseTensorDenseAdd")
              .Input("a_indices: Tindices")
              .Input("a_values: T")
              .Input("a_shape: Tindices")
              .Input("b: T")
              .Output("output: T")
              .Attr("T: numbertype")
              .Attr("Tindices: {int32, int64}")
              .Shape(DenseAddShape)
              .Doc("A dense tensor plus a sparse one of the same shape; dense."));
  for (const bool is_max : {false, true}) {
    ops.Add(OpSchemaBuilder(is_max ? "SparseSparseMaximum" : "SparseSparseMinimum")
                .Input("a_indices: int64")
                .Input("a_values: T")
                .Input("a_shape: int64")
                .Input("b_indices: int64")
                .Input("b_values: T")
                .Input("b_shape: int64")
                .Output("output_indices: int64")
                .Output("output_values: T")
                .Attr(is_max ? kReals : "T: numbertype")
                .Shape(SparsePairShape)
                .Doc(is_max ? "The larger of two sparse tensors' entries, 0 for one that is absent."
                            : "The smaller of two sparse tensors' entries, 0 for one that is "
                              "absent."));
  }
}

}  // namespace

void RegisterSparsePairOps(OpRegistry& ops) {
  RegisterPairs(ops);
  for (const bool is_max : {false, true}) {
    ops.Add(OpSchemaBuilder(is_max ? "SparseReduceMaxSparse" : "SparseReduceSumSparse")
                .Input("input_indices: int64")
                .Input("input_values: T")
                .Input("input_shape: int64")
                .Input("reduction_axes: int32")
                .Output("output_indices: int64")
                .Output("output_values: T")
                .Output("output_shape: int64")
                .Attr("keep_dims: bool = false")
                .Attr(is_max ? kReals : "T: numbertype")
                .Shape(ReduceShape)
                .Doc(is_max ? "The largest entry along axes; sparse."
                            : "The sum of the entries along axes; sparse."));
  }
  ops.Add(OpSchemaBuilder("SparseSplit")
              .Input("split_dim: int64")
              .Input("indices: int64")
              .Input("values: T")
              .Input("shape: int64")
              .Output("output_indices: num_split * int64")
              .Output("output_values: num_split * T")
              .Output("output_shape: num_split * int64")
              .Attr("num_split: int >= 1")
              .Attr("T: type")
              .Shape(SplitShape)
              .Doc("A sparse tensor in equal parts along a dimension; the first are larger by 1 "
                   "where there is a rest."));
  ops.Add(OpSchemaBuilder("SparseSliceGrad")
              .Input("backprop_val_grad: T")
              .Input("input_indices: int64")
              .Input("input_start: int64")
              .Input("output_indices: int64")
              .Output("val_grad: T")
              .Attr("T: numbertype")
              .Shape(SliceGradShape)
              .Doc("The gradient of SparseSlice for the values."));
}

}  // namespace tensorfleet
