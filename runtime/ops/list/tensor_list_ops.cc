// Lists of tensors and optionals, in variants: what functional loops and conditionals keep values
// in for their gradients. Kernels: runtime/kernels/cpu/list/tensor_list_*.cc, optional.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

// The element shape that input `i` spells, as far as it is known; the scalar -1 says nothing.
PartialShape ElementShape(const ShapeContext& ctx, int i) {
  const Tensor* value = ctx.constant_input(i);
  if (value == nullptr || value->rank() != 1) return PartialShape::Unknown();
  const StatusOr<PartialShape> shape = ctx.InputAsShape(i);
  return shape.ok() ? *shape : PartialShape::Unknown();
}

template <int kInput>
Status ElementOutput(ShapeContext& ctx) {
  ctx.set_output(0, ElementShape(ctx, kInput));
  return OkStatus();
}

Status PopBackShape(ShapeContext& ctx) {
  ctx.set_output(0, shapes::ScalarShape());
  ctx.set_output(1, ElementShape(ctx, 1));
  return OkStatus();
}

Status StackShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t size, ctx.Attr<int64_t>("num_elements"));
  ctx.set_output(0,
                 shapes::Joined(shapes::VectorOf(size < 0 ? kOpen : size), ElementShape(ctx, 1)));
  return OkStatus();
}

Status GatherShape(ShapeContext& ctx) {
  const PartialShape& indices = ctx.input(1);
  const int64_t size = indices.has_rank() && indices.rank() == 1 ? indices.dim(0) : kOpen;
  ctx.set_output(0, shapes::Joined(shapes::VectorOf(size), ElementShape(ctx, 2)));
  return OkStatus();
}

Status ConcatShape(ShapeContext& ctx) {
  ctx.set_output(1, shapes::VectorOf(kOpen));
  return OkStatus();
}

Status OptionalValueShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<PartialShape> declared,
                          ctx.Attr<std::vector<PartialShape>>("output_shapes"));
  for (int i = 0; i < ctx.num_outputs() && i < static_cast<int>(declared.size()); ++i) {
    ctx.set_output(i, declared[i]);
  }
  return OkStatus();
}

OpSchemaBuilder MakesList(const char* name) {
  return OpSchemaBuilder(name).Attr("element_dtype: type").Shape(shapes::ScalarOutputs);
}
constexpr char kShapeType[] = "shape_type: {int32, int64}";

void RegisterMaking(OpRegistry& ops) {
  ops.Add(MakesList("EmptyTensorList")
              .Input("element_shape: shape_type")
              .Input("max_num_elements: int32")
              .Output("handle: variant")
              .Attr(kShapeType)
              .Doc("A list without elements, of at most `max_num_elements`; -1 means any number."));
  ops.Add(MakesList("TensorListReserve")
              .Input("element_shape: shape_type")
              .Input("num_elements: int32")
              .Output("handle: variant")
              .Attr(kShapeType)
              .Doc("A list of so many elements that are not set."));
  ops.Add(MakesList("TensorListFromTensor")
              .Input("tensor: element_dtype")
              .Input("element_shape: shape_type")
              .Output("output_handle: variant")
              .Attr(kShapeType)
              .Doc("The rows of a tensor as a list."));
  ops.Add(MakesList("TensorListSplit")
              .Input("tensor: element_dtype")
              .Input("element_shape: shape_type")
              .Input("lengths: int64")
              .Output("output_handle: variant")
              .Attr(kShapeType)
              .Doc("A tensor cut into a list of tensors of the given lengths."));
  for (const bool has_size : {false, true}) {
    OpSchemaBuilder op = MakesList(has_size ? "TensorListScatterV2" : "TensorListScatter");
    op.Input("tensor: element_dtype").Input("indices: int32").Input("element_shape: shape_type");
    if (has_size) op.Input("num_elements: int32");
    ops.Add(op.Output("output_handle: variant")
                .Attr(kShapeType)
                .Doc("A list with the rows of a tensor at the given places, as long as the largest "
                     "place needs or as num_elements says."));
  }
}

void RegisterChanging(OpRegistry& ops) {
  ops.Add(MakesList("TensorListPushBack")
              .Input("input_handle: variant")
              .Input("tensor: element_dtype")
              .Output("output_handle: variant")
              .Doc("The list with one more element."));
  ops.Add(OpSchemaBuilder("TensorListPushBackBatch")
              .Input("input_handles: variant")
              .Input("tensor: element_dtype")
              .Output("output_handles: variant")
              .Attr("element_dtype: type")
              .Shape(shapes::Unchanged)
              .Doc("A vector of lists, each with one more element, a row of the tensor."));
  ops.Add(OpSchemaBuilder("TensorListPopBack")
              .Input("input_handle: variant")
              .Input("element_shape: int32")
              .Output("output_handle: variant")
              .Output("tensor: element_dtype")
              .Attr("element_dtype: type")
              .Shape(PopBackShape)
              .Doc("The list without its last element, and that element."));
  ops.Add(MakesList("TensorListSetItem")
              .Input("input_handle: variant")
              .Input("index: int32")
              .Input("item: element_dtype")
              .Output("output_handle: variant")
              .Attr("resize_if_index_out_of_bounds: bool = false")
              .Doc("The list with another element at a place."));
  ops.Add(MakesList("TensorListScatterIntoExistingList")
              .Input("input_handle: variant")
              .Input("tensor: element_dtype")
              .Input("indices: int32")
              .Output("output_handle: variant")
              .Doc("The list with the rows of a tensor at the given places."));
  ops.Add(OpSchemaBuilder("TensorListResize")
              .Input("input_handle: variant")
              .Input("size: int32")
              .Output("output_handle: variant")
              .Shape(shapes::ScalarOutputs)
              .Doc("The list, made longer by elements that are not set, or shorter."));
  ops.Add(OpSchemaBuilder("TensorListConcatLists")
              .Input("input_a: variant")
              .Input("input_b: variant")
              .Output("output: variant")
              .Attr("element_dtype: type")
              .Shape(shapes::MergeInputs)
              .Doc("The elements of one list followed by those of the other, for each pair."));
}

void RegisterReading(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("TensorListGetItem")
              .Input("input_handle: variant")
              .Input("index: int32")
              .Input("element_shape: int32")
              .Output("item: element_dtype")
              .Attr("element_dtype: type")
              .Shape(ElementOutput<2>)
              .Doc("An element of the list; one that is not set reads as zeros."));
  ops.Add(OpSchemaBuilder("TensorListLength")
              .Input("input_handle: variant")
              .Output("length: int32")
              .Shape(shapes::ScalarOutputs)
              .Doc("How many elements the list has."));
  ops.Add(OpSchemaBuilder("TensorListElementShape")
              .Input("input_handle: variant")
              .Output("element_shape: shape_type")
              .Attr(kShapeType)
              .Shape(shapes::UnknownShapes)
              .Doc("What is known of the elements' shape: -1 for open dimensions, the scalar -1 "
                   "when nothing is."));
  ops.Add(OpSchemaBuilder("TensorListStack")
              .Input("input_handle: variant")
              .Input("element_shape: int32")
              .Output("tensor: element_dtype")
              .Attr("element_dtype: type")
              .Attr("num_elements: int = -1")
              .Shape(StackShape)
              .Doc("The elements as the rows of a tensor."));
  ops.Add(OpSchemaBuilder("TensorListGather")
              .Input("input_handle: variant")
              .Input("indices: int32")
              .Input("element_shape: int32")
              .Output("values: element_dtype")
              .Attr("element_dtype: type")
              .Shape(GatherShape)
              .Doc("Some of the elements as the rows of a tensor."));
  ops.Add(
      OpSchemaBuilder("TensorListConcat")
          .Input("input_handle: variant")
          .Output("tensor: element_dtype")
          .Output("lengths: int64")
          .Attr("element_dtype: type")
          .Attr("element_shape: shape = { unknown_rank: true }")
          .Shape(ConcatShape)
          .Doc("The elements one after another along their first dimension, and their lengths."));
  ops.Add(OpSchemaBuilder("TensorListConcatV2")
              .Input("input_handle: variant")
              .Input("element_shape: shape_type")
              .Input("leading_dims: int64")
              .Output("tensor: element_dtype")
              .Output("lengths: int64")
              .Attr("element_dtype: type")
              .Attr(kShapeType)
              .Shape(ConcatShape)
              .Doc("TensorListConcat; leading_dims are the lengths of elements that are not set."));
}

void RegisterOptionals(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("OptionalNone")
              .Output("optional: variant")
              .Shape(shapes::ScalarOutputs)
              .Doc("An optional without a value."));
  ops.Add(OpSchemaBuilder("OptionalFromValue")
              .Input("components: Toutput_types")
              .Output("optional: variant")
              .Attr("Toutput_types: list(type) >= 1")
              .Shape(shapes::ScalarOutputs)
              .Doc("An optional with a value of several tensors."));
  ops.Add(OpSchemaBuilder("OptionalHasValue")
              .Input("optional: variant")
              .Output("has_value: bool")
              .Shape(shapes::ScalarOutputs)
              .Doc("Whether the optional has a value."));
  ops.Add(OpSchemaBuilder("OptionalGetValue")
              .Input("optional: variant")
              .Output("components: output_types")
              .Attr("output_types: list(type) >= 1")
              .Attr("output_shapes: list(shape) >= 1")
              .Shape(OptionalValueShape)
              .Doc("The value of the optional."));
}

}  // namespace

void RegisterTensorListOps(OpRegistry& ops) {
  RegisterMaking(ops);
  RegisterChanging(ops);
  RegisterReading(ops);
  RegisterOptionals(ops);
}

}  // namespace tensorfleet
