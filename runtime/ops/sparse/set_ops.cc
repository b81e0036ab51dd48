// Operations on sets. Kernels: runtime/kernels/cpu/sparse/sets.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

// Indices, values and shape of a sparse tensor, of the rank of a dense first set.
Status SetsShape(ShapeContext& ctx) {
  const PartialShape& first = ctx.input(0);
  const bool is_dense = ctx.num_inputs() < 6;
  const int64_t rank = is_dense && first.has_rank() ? first.rank() : kOpen;
  ctx.set_output(0, PartialShape({kOpen, rank}));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  ctx.set_output(2, shapes::VectorOf(rank));
  return OkStatus();
}

}  // namespace

void RegisterSetOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("DenseToDenseSetOperation")
              .Input("set1: T")
              .Input("set2: T")
              .Output("result_indices: int64")
              .Output("result_values: T")
              .Output("result_shape: int64")
              .Attr("set_operation: string")
              .Attr("validate_indices: bool = true")
              .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
              .Shape(SetsShape)
              .Doc("The union, intersection or difference of the sets in the last dimensions of "
                   "two tensors."));
  ops.Add(OpSchemaBuilder("DenseToSparseSetOperation")
              .Input("set1: T")
              .Input("set2_indices: int64")
              .Input("set2_values: T")
              .Input("set2_shape: int64")
              .Output("result_indices: int64")
              .Output("result_values: T")
              .Output("result_shape: int64")
              .Attr("set_operation: string")
              .Attr("validate_indices: bool = true")
              .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
              .Shape(SetsShape)
              .Doc("The union, intersection or difference of the sets in the last dimensions of a "
                   "tensor and a sparse tensor."));
  ops.Add(OpSchemaBuilder("SparseToSparseSetOperation")
              .Input("set1_indices: int64")
              .Input("set1_values: T")
              .Input("set1_shape: int64")
              .Input("set2_indices: int64")
              .Input("set2_values: T")
              .Input("set2_shape: int64")
              .Output("result_indices: int64")
              .Output("result_values: T")
              .Output("result_shape: int64")
              .Attr("set_operation: string")
              .Attr("validate_indices: bool = true")
              .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
              .Shape(SetsShape)
              .Doc("The union, intersection or difference of the sets in the last dimensions of "
                   "two sparse tensors."));
  ops.Add(
      OpSchemaBuilder("SetSize")
          .Input("set_indices: int64")
          .Input("set_values: T")
          .Input("set_shape: int64")
          .Output("size: int32")
          .Attr("validate_indices: bool = true")
          .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
          .Shape(shapes::UnknownShapes)
          .Doc("How many distinct elements there are in the last dimension of a sparse tensor."));
}

}  // namespace tensorfleet
