// Arrays of tensors within a step, for loops in the v1 style and their gradients. Kernels:
// runtime/kernels/cpu/list/tensor_array_ops.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status GatherShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const PartialShape element, ctx.Attr<PartialShape>("element_shape"));
  const PartialShape& indices = ctx.input(1);
  const bool is_known = indices.has_rank() && indices.rank() == 1;
  ctx.set_output(
      0, shapes::Joined(shapes::VectorOf(is_known ? indices.dim(0) : PartialShape::kUnknownDim),
                        element));
  return OkStatus();
}

Status ConcatShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const PartialShape row, ctx.Attr<PartialShape>("element_shape_except0"));
  ctx.set_output(0, shapes::Joined(shapes::VectorOf(PartialShape::kUnknownDim), row));
  ctx.set_output(1, shapes::VectorOf(PartialShape::kUnknownDim));
  return OkStatus();
}

constexpr char kAnyShape[] = " = { unknown_rank: true }";

OpSchemaBuilder ArrayOp(const char* name) {
  return OpSchemaBuilder(name).Input("handle: resource").Stateful().Shape(shapes::ScalarOutputs);
}

}  // namespace

void RegisterTensorArrayOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("TensorArrayV3")
              .Input("size: int32")
              .Output("handle: resource")
              .Output("flow: float")
              .Attr("dtype: type")
              .Attr(absl::StrCat("element_shape: shape", kAnyShape))
              .Attr("dynamic_size: bool = false")
              .Attr("clear_after_read: bool = true")
              .Attr("identical_element_shapes: bool = false")
              .Attr("tensor_array_name: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("A new array of tensors, which lives until the step ends."));
  ops.Add(ArrayOp("TensorArrayGradV3")
              .Input("flow_in: float")
              .Output("grad_handle: resource")
              .Output("flow_out: float")
              .Attr("source: string")
              .Doc("The array of the gradients of another, for one gradient computation; what is "
                   "written to a place more than once adds up."));
  ops.Add(ArrayOp("TensorArrayWriteV3")
              .Input("index: int32")
              .Input("value: T")
              .Input("flow_in: float")
              .Output("flow_out: float")
              .Attr("T: type")
              .Doc("Writes an element."));
  ops.Add(OpSchemaBuilder("TensorArrayReadV3")
              .Input("handle: resource")
              .Input("index: int32")
              .Input("flow_in: float")
              .Output("value: dtype")
              .Attr("dtype: type")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Reads an element."));
  ops.Add(OpSchemaBuilder("TensorArrayGatherV3")
              .Input("handle: resource")
              .Input("indices: int32")
              .Input("flow_in: float")
              .Output("value: dtype")
              .Attr("dtype: type")
              .Attr(absl::StrCat("element_shape: shape", kAnyShape))
              .Stateful()
              .Shape(GatherShape)
              .Doc("Reads elements as the rows of a tensor."));
  ops.Add(ArrayOp("TensorArrayScatterV3")
              .Input("indices: int32")
              .Input("value: T")
              .Input("flow_in: float")
              .Output("flow_out: float")
              .Attr("T: type")
              .Doc("Writes the rows of a tensor as elements."));
  ops.Add(OpSchemaBuilder("TensorArrayConcatV3")
              .Input("handle: resource")
              .Input("flow_in: float")
              .Output("value: dtype")
              .Output("lengths: int64")
              .Attr("dtype: type")
              .Attr(absl::StrCat("element_shape_except0: shape", kAnyShape))
              .Stateful()
              .Shape(ConcatShape)
              .Doc("Reads all elements, one after another along their first dimension, and their "
                   "lengths."));
  ops.Add(ArrayOp("TensorArraySplitV3")
              .Input("value: T")
              .Input("lengths: int64")
              .Input("flow_in: float")
              .Output("flow_out: float")
              .Attr("T: type")
              .Doc("Writes the parts of a tensor, of the given lengths, as elements."));
  ops.Add(ArrayOp("TensorArraySizeV3")
              .Input("flow_in: float")
              .Output("size: int32")
              .Doc("How many elements the array has."));
  ops.Add(ArrayOp("TensorArrayCloseV3").Doc("Ends the array before the step does."));
}

}  // namespace tensorfleet
