// Crosses of columns. Kernels: runtime/kernels/cpu/sparse/sparse_cross.cc and ragged_cross.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// Indices, values and shape of a sparse matrix.
Status CrossShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({PartialShape::kUnknownDim, 2}));
  ctx.set_output(1, shapes::VectorOf(PartialShape::kUnknownDim));
  ctx.set_output(2, shapes::VectorOf(2));
  return OkStatus();
}

// Values and splits; there are as many rows as in any of the inputs.
Status RaggedCrossShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const auto ragged, ctx.Attr<std::vector<DType>>("ragged_values_types"));
  TFLEET_ASSIGN_OR_RETURN(const auto splits, ctx.Attr<std::vector<DType>>("ragged_splits_types"));
  TFLEET_ASSIGN_OR_RETURN(const auto sparse, ctx.Attr<std::vector<DType>>("sparse_values_types"));
  const size_t dense = ragged.size() + splits.size() + 3 * sparse.size();
  int64_t rows = PartialShape::kUnknownDim;
  if (!splits.empty() && splits.size() == ragged.size()) {
    const PartialShape& first = ctx.input(static_cast<int>(ragged.size()));
    if (first.has_rank() && first.rank() == 1 && first.dim(0) > 0) rows = first.dim(0) - 1;
  } else if (dense < static_cast<size_t>(ctx.num_inputs())) {
    const PartialShape& first = ctx.input(static_cast<int>(dense));
    if (first.has_rank() && first.rank() == 2) rows = first.dim(0);
  }
  ctx.set_output(0, shapes::VectorOf(PartialShape::kUnknownDim));
  ctx.set_output(1, shapes::VectorOf(rows < 0 ? rows : rows + 1));
  return OkStatus();
}

}  // namespace

void RegisterSparseCrossOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("RaggedCross")
              .Input("ragged_values: ragged_values_types")
              .Input("ragged_row_splits: ragged_splits_types")
              .Input("sparse_indices: Nsparse * int64")
              .Input("sparse_values: sparse_values_types")
              .Input("sparse_shape: Nsparse * int64")
              .Input("dense_inputs: dense_types")
              .Output("output_values: out_values_type")
              .Output("output_row_splits: out_row_splits_type")
              .Attr("Nsparse: int >= 0")
              .Attr("input_order: string")
              .Attr("hashed_output: bool")
              .Attr("num_buckets: int >= 0")
              .Attr("hash_key: int")
              .Attr("ragged_values_types: list({int64, string}) >= 0")
              .Attr("ragged_splits_types: list({int32, int64}) >= 0")
              .Attr("sparse_values_types: list({int64, string}) >= 0")
              .Attr("dense_types: list({int64, string}) >= 0")
              .Attr("out_values_type: {int64, string}")
              .Attr("out_row_splits_type: {int32, int64}")
              .Shape(RaggedCrossShape)
              .Doc("All combinations of the features of ragged, sparse and dense columns, row by "
                   "row, as texts or hashes."));
  ops.Add(OpSchemaBuilder("SparseCross")
              .Input("indices: N * int64")
              .Input("values: sparse_types")
              .Input("shapes: N * int64")
              .Input("dense_inputs: dense_types")
              .Output("output_indices: int64")
              .Output("output_values: out_type")
              .Output("output_shape: int64")
              .Attr("N: int >= 0")
              .Attr("hashed_output: bool")
              .Attr("num_buckets: int >= 0")
              .Attr("hash_key: int")
              .Attr("sparse_types: list({int64, string}) >= 0")
              .Attr("dense_types: list({int64, string}) >= 0")
              .Attr("out_type: {int64, string}")
              .Attr("internal_type: {int64, string}")
              .Shape(CrossShape)
              .Doc("All combinations of the features of several columns, row by row, as texts or "
                   "hashes."));
  ops.Add(OpSchemaBuilder("SparseCrossV2")
              .Input("indices: N * int64")
              .Input("values: sparse_types")
              .Input("shapes: N * int64")
              .Input("dense_inputs: dense_types")
              .Input("sep: string")
              .Output("output_indices: int64")
              .Output("output_values: string")
              .Output("output_shape: int64")
              .Attr("N: int >= 0")
              .Attr("sparse_types: list({int64, string}) >= 0")
              .Attr("dense_types: list({int64, string}) >= 0")
              .Shape(CrossShape)
              .Doc("All combinations of the features of several columns, row by row, joined by a "
                   "separator."));
  ops.Add(OpSchemaBuilder("SparseCrossHashed")
              .Input("indices: N * int64")
              .Input("values: sparse_types")
              .Input("shapes: N * int64")
              .Input("dense_inputs: dense_types")
              .Input("num_buckets: int64")
              .Input("strong_hash: bool")
              .Input("salt: int64")
              .Output("output_indices: int64")
              .Output("output_values: int64")
              .Output("output_shape: int64")
              .Attr("N: int >= 0")
              .Attr("sparse_types: list({int64, string}) >= 0")
              .Attr("dense_types: list({int64, string}) >= 0")
              .Shape(CrossShape)
              .Doc("Hashes of all combinations of the features of several columns, row by row."));
}

}  // namespace tensorfleet
