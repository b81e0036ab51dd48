// Ops that make tensors out of little: fills, ranges, one-hot rows, and Bucketize.
#include <cmath>

#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

using shapes::VectorOf;

constexpr int64_t kOpen = PartialShape::kUnknownDim;

// A number is taken for a vector of one.
Status FillShape(ShapeContext& ctx) {
  if (ctx.input(0).has_rank() && ctx.input(0).rank() == 0) {
    const auto only = shapes::ConstantInteger(ctx, 0);
    ctx.set_output(0, VectorOf(only && *only >= 0 ? *only : kOpen));
    return OkStatus();
  }
  TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(0));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

Status OneHotShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  TFLEET_ASSIGN_OR_RETURN(const int64_t axis_attr, ctx.Attr<int64_t>("axis"));
  if (axis_attr < -1) return InvalidArgument("axis must be >= -1");
  if (!in.has_rank()) return OkStatus();
  const auto axis = shapes::Normalized(axis_attr, in.rank() + 1);
  if (!axis) {
    return InvalidArgument("Expected axis to be -1 or between [0, ", in.rank() + 1,
                           ").  But received: ", axis_attr);
  }
  const auto depth = shapes::ConstantInteger(ctx, 1);
  ctx.set_output(0, shapes::Joined(shapes::Joined(shapes::Part(in, 0, *axis),
                                                  VectorOf(depth && *depth >= 0 ? *depth : kOpen)),
                                   shapes::Part(in, *axis, in.rank())));
  return OkStatus();
}

// The length is worked out for integers only; those of floats are rare in shapes.
Status RangeShape(ShapeContext& ctx) {
  const auto start = shapes::ConstantInteger(ctx, 0);
  const auto limit = shapes::ConstantInteger(ctx, 1);
  const auto delta = shapes::ConstantInteger(ctx, 2);
  int64_t length = kOpen;
  if (start && limit && delta && *delta != 0 && (*delta > 0) == (*start <= *limit)) {
    const uint64_t span = *delta > 0
                              ? static_cast<uint64_t>(*limit) - static_cast<uint64_t>(*start)
                              : static_cast<uint64_t>(*start) - static_cast<uint64_t>(*limit);
    const uint64_t step =
        *delta > 0 ? static_cast<uint64_t>(*delta) : uint64_t{0} - static_cast<uint64_t>(*delta);
    const uint64_t steps = span / step + (span % step != 0 ? 1 : 0);
    if (steps <= static_cast<uint64_t>(INT64_MAX)) length = static_cast<int64_t>(steps);
  }
  ctx.set_output(0, VectorOf(length));
  return OkStatus();
}

Status LinSpaceShape(ShapeContext& ctx) {
  const auto num = shapes::ConstantInteger(ctx, 2);
  ctx.set_output(0, VectorOf(num && *num > 0 ? *num : kOpen));
  return OkStatus();
}

}  // namespace

void RegisterFillOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Fill")
              .Input("dims: index_type")
              .Input("value: T")
              .Output("output: T")
              .Attr("T: type")
              .Attr("index_type: {int32, int64} = DT_INT32")
              .Shape(FillShape)
              .Doc("A tensor of one value."));
  ops.Add(OpSchemaBuilder("ZerosLike")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: type")
              .Shape(shapes::Unchanged)
              .Doc("Zeros of the input's shape."));
  ops.Add(OpSchemaBuilder("OnesLike")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, "
                    "int64, uint64, complex64, complex128, bool}")
              .Shape(shapes::Unchanged)
              .Doc("Ones of the input's shape."));
  ops.Add(OpSchemaBuilder("Empty")
              .Input("shape: int32")
              .Output("output: dtype")
              .Attr("dtype: type")
              .Attr("init: bool = false")
              .Stateful()
              .Shape(shapes::ShapeFromVector<0>)
              .Doc("Memory for a tensor, set to zero only when asked."));
  ops.Add(OpSchemaBuilder("OneHot")
              .Input("indices: TI")
              .Input("depth: int32")
              .Input("on_value: T")
              .Input("off_value: T")
              .Output("output: T")
              .Attr("axis: int = -1")
              .Attr("T: type")
              .Attr("TI: {uint8, int8, int32, int64} = DT_INT64")
              .Shape(OneHotShape)
              .Doc("on_value at each index along a new axis, off_value elsewhere."));
  ops.Add(OpSchemaBuilder("Range")
              .Input("start: Tidx")
              .Input("limit: Tidx")
              .Input("delta: Tidx")
              .Output("output: Tidx")
              .Attr("Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, "
                    "uint32} = DT_INT32")
              .Shape(RangeShape)
              .Doc("start, start + delta, ... up to but without limit."));
  ops.Add(OpSchemaBuilder("LinSpace")
              .Input("start: T")
              .Input("stop: T")
              .Input("num: Tidx")
              .Output("output: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Attr("Tidx: {int32, int64} = DT_INT32")
              .Shape(LinSpaceShape)
              .Doc("num evenly spaced values from start to stop, both included."));
  ops.Add(OpSchemaBuilder("Bucketize")
              .Input("input: T")
              .Output("output: int32")
              .Attr("T: {int32, int64, float, double}")
              .Attr("boundaries: list(float)")
              .Shape(shapes::Unchanged)
              .Doc("For each element, how many boundaries it has reached."));
}

}  // namespace tensorfleet
