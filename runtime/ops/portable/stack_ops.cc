// Stacks within a step, for the gradients of loops. Kernels: runtime/kernels/portable/stacks.cc.
#include "absl/strings/str_cat.h"
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// Container and name.
Status NameShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({2}));
  return OkStatus();
}

Status PushShape(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

// Ops of the second version take and give resource handles; those of the first, references to the
// stack's name.
void RegisterUses(OpRegistry& ops, const char* version, const char* handle, bool is_stateful) {
  const auto use = [&](const char* name) {
    OpSchemaBuilder op(absl::StrCat(name, version));
    op.Input(handle).Shape(shapes::UnknownShapes);
    if (is_stateful) op.Stateful();
    return op;
  };
  ops.Add(use("StackPush")
              .Input("elem: T")
              .Output("output: T")
              .Attr("T: type")
              .Attr("swap_memory: bool = false")
              .Shape(PushShape)
              .Doc("Puts an element on the stack and passes it on."));
  ops.Add(use("StackPop")
              .Output("elem: elem_type")
              .Attr("elem_type: type")
              .Doc("Takes the last element from the stack."));
  ops.Add(use("StackClose").Doc("Ends the stack."));
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
  ops.Add(OpSchemaBuilder("Stack")
              .Output("handle: Ref(string)")
              .Attr("elem_type: type")
              .Attr("stack_name: string = ''")
              .Stateful()
              .Shape(NameShape)
              .Doc("A new stack of any number of elements."));
  RegisterUses(ops, "", "handle: Ref(string)", false);
  RegisterUses(ops, "V2", "handle: resource", true);
}

}  // namespace tensorfleet
