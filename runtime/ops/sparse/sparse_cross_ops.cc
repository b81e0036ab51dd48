// Crosses of columns. Kernels: runtime/kernels/cpu/sparse/sparse_cross.cc.
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

}  // namespace

void RegisterSparseCrossOps(OpRegistry& ops) {
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
