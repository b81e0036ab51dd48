// Sparse tensors that wait under numbers. Kernels: runtime/kernels/cpu/sparse/sparse_map.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status AddShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 1));
  const bool is_one = ctx.node().op() == "AddSparseToTensorsMap";
  ctx.set_output(0, is_one ? shapes::ScalarShape() : shapes::VectorOf(PartialShape::kUnknownDim));
  return OkStatus();
}

Status TakeShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  ctx.set_output(0, PartialShape({PartialShape::kUnknownDim, PartialShape::kUnknownDim}));
  ctx.set_output(1, shapes::VectorOf(PartialShape::kUnknownDim));
  ctx.set_output(2, shapes::VectorOf(PartialShape::kUnknownDim));
  return OkStatus();
}

}  // namespace

void RegisterSparseMapOps(OpRegistry& ops) {
  for (const bool is_one : {true, false}) {
    ops.Add(OpSchemaBuilder(is_one ? "AddSparseToTensorsMap" : "AddManySparseToTensorsMap")
                .Input("sparse_indices: int64")
                .Input("sparse_values: T")
                .Input("sparse_shape: int64")
                .Output(is_one ? "sparse_handle: int64" : "sparse_handles: int64")
                .Attr("T: type")
                .Attr("container: string = ''")
                .Attr("shared_name: string = ''")
                .Stateful()
                .Shape(AddShape)
                .Doc(is_one ? "Leaves a sparse tensor in a map and gives its number there."
                            : "Leaves each row of a sparse tensor in a map and gives their numbers "
                              "there."));
  }
  ops.Add(OpSchemaBuilder("TakeManySparseFromTensorsMap")
              .Input("sparse_handles: int64")
              .Output("sparse_indices: int64")
              .Output("sparse_values: dtype")
              .Output("sparse_shape: int64")
              .Attr("dtype: type")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(TakeShape)
              .Doc("Takes sparse tensors out of a map by their numbers, as the rows of one."));
}

}  // namespace tensorfleet
