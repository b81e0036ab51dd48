// Sparse and ragged tensors as strings and variants, and ragged tensors. Kernels:
// runtime/kernels/cpu/sparse/serialize_sparse.cc and fill_empty_rows.cc,
// runtime/kernels/cpu/ragged.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

Status RequireSparse(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  return ctx.RequireRank(2, 1);
}
Status SerializeShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx));
  ctx.set_output(0, shapes::VectorOf(3));
  return OkStatus();
}
Status SerializeManyShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(RequireSparse(ctx));
  ctx.set_output(0, PartialShape({kOpen, 3}));
  return OkStatus();
}
Status DeserializeShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  ctx.set_output(0, PartialShape({kOpen, kOpen}));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  ctx.set_output(2, shapes::VectorOf(kOpen));
  return OkStatus();
}
Status DeserializeManyShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  return DeserializeShape(ctx);
}

// Vectors of splits, then the values.
Status SplitsShape(ShapeContext& ctx) {
  for (int i = 0; i + 1 < ctx.num_outputs(); ++i) ctx.set_output(i, shapes::VectorOf(kOpen));
  return OkStatus();
}
Status ToVariantShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const bool is_batched, ctx.Attr<bool>("batched_input"));
  ctx.set_output(0, is_batched ? shapes::VectorOf(kOpen) : shapes::ScalarShape());
  return OkStatus();
}
Status RaggedRangeShape(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).has_rank() && ctx.input(i).rank() > 1) {
      return InvalidArgument("Shape must be at most rank 1 but is rank ", ctx.input(i).rank());
    }
  }
  ctx.set_output(0, shapes::VectorOf(kOpen));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  return OkStatus();
}
Status RaggedToSparseShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({kOpen, kOpen}));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  ctx.set_output(2, shapes::VectorOf(kOpen));
  return OkStatus();
}

Status RaggedFillShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 0));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(3, 0));
  const auto rows = shapes::ConstantInteger(ctx, 2);
  ctx.set_output(0, shapes::VectorOf(kOpen));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  ctx.set_output(2, shapes::VectorOf(rows && *rows >= 0 ? *rows : kOpen));
  ctx.set_output(3, ctx.input(0));
  return OkStatus();
}
Status RaggedFillGradShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  ctx.set_output(0, ctx.input(0));
  ctx.set_output(1, shapes::ScalarShape());
  return OkStatus();
}
Status VariantGradientShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(2));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace

void RegisterSparseSerialOps(OpRegistry& ops) {
  constexpr char kOutType[] = "out_type: {string, variant} = DT_STRING";
  ops.Add(OpSchemaBuilder("SerializeSparse")
              .Input("sparse_indices: int64")
              .Input("sparse_values: T")
              .Input("sparse_shape: int64")
              .Output("serialized_sparse: out_type")
              .Attr("T: type")
              .Attr(kOutType)
              .Shape(SerializeShape)
              .Doc("The three parts of a sparse tensor as a vector."));
  ops.Add(OpSchemaBuilder("SerializeManySparse")
              .Input("sparse_indices: int64")
              .Input("sparse_values: T")
              .Input("sparse_shape: int64")
              .Output("serialized_sparse: out_type")
              .Attr("T: type")
              .Attr(kOutType)
              .Shape(SerializeManyShape)
              .Doc("The three parts of each row of a sparse tensor."));
  ops.Add(OpSchemaBuilder("DeserializeSparse")
              .Input("serialized_sparse: Tserialized")
              .Output("sparse_indices: int64")
              .Output("sparse_values: dtype")
              .Output("sparse_shape: int64")
              .Attr("dtype: type")
              .Attr("Tserialized: {string, variant} = DT_STRING")
              .Shape(DeserializeShape)
              .Doc("The sparse tensor of which the input has the parts; of several, one."));
  ops.Add(OpSchemaBuilder("DeserializeManySparse")
              .Input("serialized_sparse: string")
              .Output("sparse_indices: int64")
              .Output("sparse_values: dtype")
              .Output("sparse_shape: int64")
              .Attr("dtype: type")
              .Shape(DeserializeManyShape)
              .Doc("The sparse tensor whose rows the input has the parts of."));
  constexpr char kSplits[] = "Tsplits: {int32, int64} = DT_INT64";
  ops.Add(OpSchemaBuilder("RaggedTensorToVariant")
              .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
              .Input("rt_dense_values: Tvalues")
              .Output("encoded_ragged: variant")
              .Attr("RAGGED_RANK: int >= 0")
              .Attr("Tvalues: type")
              .Attr(kSplits)
              .Attr("batched_input: bool")
              .Shape(ToVariantShape)
              .Doc("A ragged tensor, or each of its rows, as a variant."));
  ops.Add(OpSchemaBuilder("RaggedTensorFromVariant")
              .Input("encoded_ragged: variant")
              .Output("output_nested_splits: output_ragged_rank * Tsplits")
              .Output("output_dense_values: Tvalues")
              .Attr("input_ragged_rank: int >= -1")
              .Attr("output_ragged_rank: int >= 0")
              .Attr("Tvalues: type")
              .Attr(kSplits)
              .Shape(SplitsShape)
              .Doc("The ragged tensor in variants, stacked."));
  ops.Add(OpSchemaBuilder("RaggedTensorToVariantGradient")
              .Input("encoded_ragged_grad: variant")
              .Input("row_splits: Tsplits")
              .Input("dense_values_shape: int32")
              .Output("dense_values_grad: Tvalues")
              .Attr("Tvalues: type")
              .Attr(kSplits)
              .Shape(VariantGradientShape)
              .Doc("The gradient of RaggedTensorToVariant for the values; 0 for rows without."));
  ops.Add(OpSchemaBuilder("RaggedFillEmptyRows")
              .Input("value_rowids: int64")
              .Input("values: T")
              .Input("nrows: int64")
              .Input("default_value: T")
              .Output("output_value_rowids: int64")
              .Output("output_values: T")
              .Output("empty_row_indicator: bool")
              .Output("reverse_index_map: int64")
              .Attr("T: type")
              .Shape(RaggedFillShape)
              .Doc("SparseFillEmptyRows of a ragged tensor, whose rows are given by the numbers of "
                   "its values' rows."));
  ops.Add(OpSchemaBuilder("RaggedFillEmptyRowsGrad")
              .Input("reverse_index_map: int64")
              .Input("grad_values: T")
              .Output("d_values: T")
              .Output("d_default_value: T")
              .Attr("T: type")
              .Shape(RaggedFillGradShape)
              .Doc("The gradient of RaggedFillEmptyRows."));
  ops.Add(OpSchemaBuilder("RaggedTensorToTensor")
              .Input("shape: Tshape")
              .Input("values: T")
              .Input("default_value: T")
              .Input("row_partition_tensors: num_row_partition_tensors * Tindex")
              .Output("result: T")
              .Attr("T: type")
              .Attr("Tindex: {int64, int32}")
              .Attr("Tshape: {int64, int32}")
              .Attr("num_row_partition_tensors: int >= 1")
              .Attr("row_partition_types: list(string)")
              .Shape(shapes::UnknownShapes)
              .Doc("A ragged tensor with its rows filled up to one length."));
  ops.Add(OpSchemaBuilder("RaggedTensorToSparse")
              .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
              .Input("rt_dense_values: T")
              .Output("sparse_indices: int64")
              .Output("sparse_values: T")
              .Output("sparse_dense_shape: int64")
              .Attr("RAGGED_RANK: int >= 1")
              .Attr("T: type")
              .Attr(kSplits)
              .Shape(RaggedToSparseShape)
              .Doc("A ragged tensor as a sparse one."));
  ops.Add(OpSchemaBuilder("RaggedRange")
              .Input("starts: T")
              .Input("limits: T")
              .Input("deltas: T")
              .Output("rt_nested_splits: Tsplits")
              .Output("rt_dense_values: T")
              .Attr("T: {bfloat16, float, double, int32, int64} = DT_INT32")
              .Attr(kSplits)
              .Shape(RaggedRangeShape)
              .Doc("Rows of numbers, each from its start to its limit."));
  ops.Add(OpSchemaBuilder("RaggedGather")
              .Input("params_nested_splits: PARAMS_RAGGED_RANK * Tsplits")
              .Input("params_dense_values: Tvalues")
              .Input("indices: Tindices")
              .Output("output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits")
              .Output("output_dense_values: Tvalues")
              .Attr("Tvalues: type")
              .Attr("Tindices: {int32, int64}")
              .Attr(kSplits)
              .Attr("PARAMS_RAGGED_RANK: int >= 1")
              .Attr("OUTPUT_RAGGED_RANK: int >= 0")
              .Shape(SplitsShape)
              .Doc("Rows of a ragged tensor by their numbers."));
}

}  // namespace tensorfleet
