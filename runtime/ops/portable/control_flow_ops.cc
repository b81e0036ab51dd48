// Conditionals and loops by dataflow: dead values, merges and frames. How they run:
// runtime/execute.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// Every output has the shape of input 0.
Status LikeInput(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.input(0));
  return OkStatus();
}

// What all inputs agree on; whichever comes is passed on, so nothing else is known.
Status MergeShape(ShapeContext& ctx) {
  PartialShape common = ctx.input(0);
  for (int i = 1; i < ctx.num_inputs() && common.has_rank(); ++i) {
    const PartialShape& other = ctx.input(i);
    if (!other.has_rank() || other.rank() != common.rank()) {
      common = PartialShape::Unknown();
      break;
    }
    for (int d = 0; d < common.rank(); ++d) {
      if (common.dim(d) != other.dim(d)) common.set_dim(d, PartialShape::kUnknownDim);
    }
  }
  ctx.set_output(0, common);
  ctx.set_output(1, PartialShape({}));
  return OkStatus();
}

Status SwitchShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 0));
  return LikeInput(ctx);
}

OpSchemaBuilder Enter(const char* name, const char* data, const char* output) {
  return OpSchemaBuilder(name)
      .Input(data)
      .Output(output)
      .Attr("T: type")
      .Attr("frame_name: string")
      .Attr("is_constant: bool = false")
      .Attr("parallel_iterations: int = 10")
      .Shape(LikeInput);
}

}  // namespace

void RegisterControlFlowOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Switch")
              .Input("data: T")
              .Input("pred: bool")
              .Output("output_false: T")
              .Output("output_true: T")
              .Attr("T: type")
              .Shape(SwitchShape)
              .Doc("Passes data on to the output that pred says; the other output is dead."));
  ops.Add(
      OpSchemaBuilder("RefSwitch")
          .Input("data: Ref(T)")
          .Input("pred: bool")
          .Output("output_false: Ref(T)")
          .Output("output_true: Ref(T)")
          .Attr("T: type")
          .AllowsUninitializedInput()
          .Shape(SwitchShape)
          .Doc("Passes the reference on to the output that pred says; the other output is dead."));
  ops.Add(
      OpSchemaBuilder("_SwitchN")
          .Input("data: T")
          .Input("output_index: int32")
          .Output("outputs: num_outs * T")
          .Attr("num_outs: int >= 1")
          .Attr("T: type")
          .Shape(SwitchShape)
          .Doc("Passes data on to one of several outputs, to the last one when the index is out of "
               "range; the others are dead."));
  ops.Add(OpSchemaBuilder("Merge")
              .Input("inputs: N * T")
              .Output("output: T")
              .Output("value_index: int32")
              .Attr("T: type")
              .Attr("N: int >= 1")
              .Shape(MergeShape)
              .Doc("Passes on the first input that is not dead, and which one it is."));
  ops.Add(OpSchemaBuilder("RefMerge")
              .Input("inputs: Ref(N * T)")
              .Output("output: Ref(T)")
              .Output("value_index: int32")
              .Attr("T: type")
              .Attr("N: int >= 1")
              .Shape(MergeShape)
              .Doc("Passes on the first reference that is not dead, and which one it is."));
  ops.Add(Enter("Enter", "data: T", "output: T")
              .Doc("Brings data into the loop frame frame_name: into its first iteration, or into "
                   "all of "
                   "them when is_constant."));
  ops.Add(Enter("RefEnter", "data: Ref(T)", "output: Ref(T)")
              .Doc("Brings a reference into the loop frame frame_name."));
  ops.Add(OpSchemaBuilder("Exit")
              .Input("data: T")
              .Output("output: T")
              .Attr("T: type")
              .Shape(LikeInput)
              .Doc("Brings the value of the last iteration out of a loop frame."));
  ops.Add(OpSchemaBuilder("RefExit")
              .Input("data: Ref(T)")
              .Output("output: Ref(T)")
              .Attr("T: type")
              .Shape(LikeInput)
              .Doc("Brings the reference of the last iteration out of a loop frame."));
  ops.Add(OpSchemaBuilder("NextIteration")
              .Input("data: T")
              .Output("output: T")
              .Attr("T: type")
              .Shape(LikeInput)
              .Doc("Brings data into the next iteration of a loop frame."));
  ops.Add(OpSchemaBuilder("RefNextIteration")
              .Input("data: Ref(T)")
              .Output("output: Ref(T)")
              .Attr("T: type")
              .Shape(LikeInput)
              .Doc("Brings a reference into the next iteration of a loop frame."));
  ops.Add(OpSchemaBuilder("LoopCond")
              .Input("input: bool")
              .Output("output: bool")
              .Shape(LikeInput)
              .Doc("Whether a loop goes on: its input, which all Switch nodes of the loop take "
                   "from here."));
  ops.Add(OpSchemaBuilder("RefIdentity")
              .Input("input: Ref(T)")
              .Output("output: Ref(T)")
              .Attr("T: type")
              .AllowsUninitializedInput()
              .Shape(LikeInput)
              .Doc("The same reference."));
  ops.Add(OpSchemaBuilder("RefSelect")
              .Input("index: int32")
              .Input("inputs: Ref(N * T)")
              .Output("output: Ref(T)")
              .Attr("T: type")
              .Attr("N: int >= 1")
              .Shape(shapes::UnknownShapes)
              .Doc("The reference at position index."));
  ops.Add(OpSchemaBuilder("ControlTrigger")
              .Doc("Does nothing, but runs even when its control inputs are dead."));
  ops.Add(OpSchemaBuilder("Abort")
              .Attr("error_msg: string = ''")
              .Attr("exit_without_error: bool = false")
              .Doc("Fails the step with error_msg. The server, which others use too, goes on; for "
                   "the same "
                   "reason exit_without_error fails the step as well."));
}

}  // namespace tensorfleet
