// Stacks within a step, for the gradients of loops. Kernels: runtime/kernels/portable/stacks.cc.
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status PushShape(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

}  // namespace

void RegisterStackOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("StackV2")
              .Input("max_size: int32")
              .Output("handle: resource")
              .Attr("elem_type: type")
              .Attr("stack_name: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("A new stack, of at most `max_size` elements; any number below 0."));
  ops.Add(OpSchemaBuilder("StackPushV2")
              .Input("handle: resource")
              .Input("elem: T")
              .Output("output: T")
              .Attr("T: type")
              .Attr("swap_memory: bool = false")
              .Stateful()
              .Shape(PushShape)
              .Doc("Puts an element on the stack and passes it on."));
  ops.Add(OpSchemaBuilder("StackPopV2")
              .Input("handle: resource")
              .Output("elem: elem_type")
              .Attr("elem_type: type")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Takes the last element from the stack."));
  ops.Add(OpSchemaBuilder("StackCloseV2")
              .Input("handle: resource")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Ends the stack."));
}

}  // namespace tensorfleet
