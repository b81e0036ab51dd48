// Choosing between values, sums of many, conversions, and the bookkeeping of broadcasts.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// The condition is as big as the values, or a scalar, or a vector that picks rows.
Status SelectShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, ctx.input(1).MergedWith(ctx.input(2)));
  const PartialShape& condition = ctx.input(0);
  if (condition.has_rank() && out.has_rank() && condition.rank() > 0) {
    if (condition.rank() == 1 && out.rank() >= 1) {
      TFLEET_ASSIGN_OR_RETURN(const int64_t rows, shapes::MergeDims(condition.dim(0), out.dim(0)));
      out.set_dim(0, rows);
    } else {
      TFLEET_ASSIGN_OR_RETURN(out, out.MergedWith(condition));
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status SelectV2Shape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape values,
                          shapes::BroadcastPartial(ctx.input(1), ctx.input(2)));
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, shapes::BroadcastPartial(ctx.input(0), values));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status AccumulateShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(shapes::MergeInputs(ctx));
  TFLEET_ASSIGN_OR_RETURN(const PartialShape declared, ctx.Attr<PartialShape>("shape"));
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, ctx.output(0).MergedWith(declared));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// Two vectors of unknown length.
Status BroadcastGradientArgsShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  ctx.set_output(0, PartialShape::UnknownOfRank(1));
  ctx.set_output(1, PartialShape::UnknownOfRank(1));
  return OkStatus();
}

// The shape that both broadcast to: as long as the longer one.
Status BroadcastArgsShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  PartialShape out = PartialShape::UnknownOfRank(1);
  if (ctx.input(0).is_fully_defined() && ctx.input(1).is_fully_defined()) {
    out.set_dim(0, std::max(ctx.input(0).dim(0), ctx.input(1).dim(0)));
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterSelectionOps(OpRegistry& ops) {
  ops.Add(
      OpSchemaBuilder("Select")
          .Input("condition: bool")
          .Input("t: T")
          .Input("e: T")
          .Output("output: T")
          .Attr("T: type")
          .Shape(SelectShape)
          .Doc("t where the condition is true, e elsewhere; a vector of conditions picks rows."));
  ops.Add(OpSchemaBuilder("SelectV2")
              .Input("condition: bool")
              .Input("t: T")
              .Input("e: T")
              .Output("output: T")
              .Attr("T: type")
              .Shape(SelectV2Shape)
              .Doc("t where the condition is true, e elsewhere; all three broadcast."));
  ops.Add(OpSchemaBuilder("ClipByValue")
              .Input("t: T")
              .Input("clip_value_min: T")
              .Input("clip_value_max: T")
              .Output("output: T")
              .Attr("T: numbertype")
              .Shape(shapes::Unchanged)
              .Doc("Each element, kept between a least and a greatest value (scalars or shaped "
                   "like t)."));
  ops.Add(OpSchemaBuilder("AddN")
              .Input("inputs: N * T")
              .Output("sum: T")
              .Attr("N: int >= 1")
              .Attr("T: {numbertype, variant}")
              .Commutative()
              .Aggregate()
              .Shape(shapes::MergeInputs)
              .Doc("The sum of all inputs, which have one shape."));
  ops.Add(OpSchemaBuilder("AccumulateNV2")
              .Input("inputs: N * T")
              .Output("sum: T")
              .Attr("N: int >= 1")
              .Attr("T: numbertype")
              .Attr("shape: shape")
              .Commutative()
              .Aggregate()
              .Shape(AccumulateShape)
              .Doc("The sum of all inputs, whose shape is known."));
  ops.Add(OpSchemaBuilder("Cast")
              .Input("x: SrcT")
              .Output("y: DstT")
              .Attr("SrcT: type")
              .Attr("DstT: type")
              .Attr("Truncate: bool = false")
              .Shape(shapes::Unchanged)
              .Doc("The elements as another type. Floating types narrow to the nearest value, or "
                   "with Truncate towards zero."));
  ops.Add(OpSchemaBuilder("BroadcastGradientArgs")
              .Input("s0: T")
              .Input("s1: T")
              .Output("r0: T")
              .Output("r1: T")
              .Attr("T: {int32, int64} = DT_INT32")
              .Shape(BroadcastGradientArgsShape)
              .Doc("The axes to sum over to get the gradients of two broadcast operands of shapes "
                   "s0 and s1."));
  ops.Add(OpSchemaBuilder("BroadcastArgs")
              .Input("s0: T")
              .Input("s1: T")
              .Output("r0: T")
              .Attr("T: {int32, int64} = DT_INT32")
              .Shape(BroadcastArgsShape)
              .Doc("The shape that shapes s0 and s1 broadcast to."));
}

}  // namespace tensorfleet
