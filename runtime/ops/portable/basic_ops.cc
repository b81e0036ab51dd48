// Ops that every graph has: constants, placeholders, identities, and those that print or assert.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status ConstShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Tensor value, ctx.Attr<Tensor>("value"));
  ctx.set_output(0, value.shape());
  return OkStatus();
}

// Graphs of old front-ends say scalar where they mean anything, so a scalar tells nothing.
Status PlaceholderShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const PartialShape shape, ctx.Attr<PartialShape>("shape"));
  if (shape.has_rank() && shape.rank() > 0) ctx.set_output(0, shape);
  return OkStatus();
}

Status EachUnchanged(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.input(i));
  return OkStatus();
}

// The kernel compares; what both know is known of the output.
Status EnsureShapeShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const PartialShape expected, ctx.Attr<PartialShape>("shape"));
  StatusOr<PartialShape> merged = expected.MergedWith(ctx.input(0));
  ctx.set_output(0, merged.ok() ? *std::move(merged) : expected);
  return OkStatus();
}

void RegisterIdentities(OpRegistry& ops) {
  const auto identity = [&](const char* name, const char* doc) {
    ops.Add(OpSchemaBuilder(name)
                .Input("input: T")
                .Output("output: T")
                .Attr("T: type")
                .Shape(shapes::Unchanged)
                .Doc(doc));
  };
  identity("Identity", "Its input; the value of a variable given by reference.");
  identity("Snapshot", "Its input; a mark that an optimiser leaves.");
  identity("StopGradient", "Its input; gradients do not pass.");
  ops.Add(OpSchemaBuilder("DebugGradientIdentity")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: type")
              .AllowsUninitializedInput()
              .Shape(shapes::Unchanged)
              .Doc("Its input; a mark for debuggers of gradients."));
  ops.Add(OpSchemaBuilder("GuaranteeConst")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: type")
              .Stateful()
              .Shape(shapes::Unchanged)
              .Doc("Its input, which the graph's author promises never to change."));
  ops.Add(OpSchemaBuilder("PreventGradient")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: type")
              .Attr("message: string = ''")
              .Shape(shapes::Unchanged)
              .Doc("Its input; asking for its gradient is an error in the front-end."));
  ops.Add(OpSchemaBuilder("IdentityN")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: list(type) >= 1")
              .Shape(EachUnchanged)
              .Doc("Its inputs."));
  ops.Add(OpSchemaBuilder("DeepCopy")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: type")
              .Stateful()
              .Shape(shapes::Unchanged)
              .Doc("A copy of its input in memory of its own."));
  ops.Add(OpSchemaBuilder("EnsureShape")
              .Input("input: T")
              .Output("output: T")
              .Attr("shape: shape")
              .Attr("T: type")
              .Shape(EnsureShapeShape)
              .Doc("Its input, which must fit the shape."));
  ops.Add(OpSchemaBuilder("NoOp")
              .Shape(shapes::UnknownShapes)
              .Doc("Does nothing; there for its control edges."));
}

void RegisterSources(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Const")
              .Output("output: dtype")
              .Attr("value: tensor")
              .Attr("dtype: type")
              .Shape(ConstShape)
              .Doc("A value that is part of the graph."));
  ops.Add(OpSchemaBuilder("Placeholder")
              .Output("output: dtype")
              .Attr("dtype: type")
              .Attr("shape: shape = { unknown_rank: true }")
              .Shape(PlaceholderShape)
              .Doc("A value that must be fed."));
  ops.Add(OpSchemaBuilder("PlaceholderV2")
              .Output("output: dtype")
              .Attr("dtype: type")
              .Attr("shape: shape")
              .Shape(PlaceholderShape)
              .Doc("A value that must be fed."));
  ops.Add(OpSchemaBuilder("PlaceholderWithDefault")
              .Input("input: dtype")
              .Output("output: dtype")
              .Attr("dtype: type")
              .Attr("shape: shape")
              .Shape(shapes::ShapeFromAttr)
              .Doc("Its input unless fed."));
  ops.Add(OpSchemaBuilder("Timestamp")
              .Output("ts: double")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Seconds since 1970."));
}

void RegisterPrinting(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Assert")
              .Input("condition: bool")
              .Input("data: T")
              .Attr("T: list(type) >= 1")
              .Attr("summarize: int = 3")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Fails with the data in its message when the condition is false."));
  ops.Add(OpSchemaBuilder("Print")
              .Input("input: T")
              .Input("data: U")
              .Output("output: T")
              .Attr("T: type")
              .Attr("U: list(type) >= 0")
              .Attr("message: string = ''")
              .Attr("first_n: int = -1")
              .Attr("summarize: int = 3")
              .Stateful()
              .Shape(shapes::Unchanged)
              .Doc("Its first input; prints the others on standard error."));
  ops.Add(OpSchemaBuilder("PrintV2")
              .Input("input: string")
              .Attr("output_stream: string = 'stderr'")
              .Attr("end: string = '\n'")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Prints a string on a stream, to the log, or at the end of a file."));
}

}  // namespace

void RegisterBasicOps(OpRegistry& ops) {
  RegisterIdentities(ops);
  RegisterSources(ops);
  RegisterPrinting(ops);
}

}  // namespace tensorfleet
