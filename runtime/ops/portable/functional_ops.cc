// Ops that call functions of the graph's library.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// What the attribute says, where it says anything.
Status OutputShapesAttr(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<PartialShape> given,
                          ctx.Attr<std::vector<PartialShape>>("output_shapes"));
  if (static_cast<int>(given.size()) != ctx.num_outputs()) return OkStatus();
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, given[i]);
  return OkStatus();
}

OpSchemaBuilder Call(const char* name) {
  return OpSchemaBuilder(name)
      .Input("args: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("f: func")
      .Attr("config: string = ''")
      .Attr("config_proto: string = ''")
      .Attr("executor_type: string = ''")
      .Shape(shapes::UnknownShapes)
      .Doc("Calls the function f.");
}

OpSchemaBuilder If(const char* name) {
  return OpSchemaBuilder(name)
      .Input("cond: Tcond")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tcond: type")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("then_branch: func")
      .Attr("else_branch: func")
      .Doc(
          "Calls then_branch when cond holds, else else_branch. A number holds when it is not "
          "zero, a "
          "string when it is not empty, a tensor of another rank than 0 when it has elements.");
}

OpSchemaBuilder While(const char* name) {
  return OpSchemaBuilder(name)
      .Input("input: T")
      .Output("output: T")
      .Attr("T: list(type) >= 0")
      .Attr("cond: func")
      .Attr("body: func")
      .Doc("Calls body with its own results again and again, as long as cond of them holds.");
}

OpSchemaBuilder Case(const char* name) {
  return OpSchemaBuilder(name)
      .Input("branch_index: int32")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("branches: list(func) >= 1")
      .Attr("output_shapes: list(shape) = []")
      .Shape(OutputShapesAttr)
      .Doc("Calls the branch at branch_index, the last one when the index is out of range.");
}

}  // namespace

void RegisterFunctionalOps(OpRegistry& ops) {
  ops.Add(Call("PartitionedCall"));
  ops.Add(Call("StatefulPartitionedCall").Stateful());
  ops.Add(If("StatelessIf").Attr("output_shapes: list(shape) = []").Shape(OutputShapesAttr));
  ops.Add(If("If").Attr("output_shapes: list(shape) = []").Stateful().Shape(OutputShapesAttr));
  ops.Add(If("_If").Stateful().Shape(shapes::UnknownShapes));
  for (const char* name : {"While", "StatelessWhile"}) {
    OpSchemaBuilder op = While(name);
    op.Attr("output_shapes: list(shape) = []")
        .Attr("parallel_iterations: int = 10")
        .Shape(OutputShapesAttr);
    if (op.name() == "While") op.Stateful();
    ops.Add(std::move(op));
  }
  ops.Add(While("_While").Stateful().Shape(shapes::UnknownShapes));
  ops.Add(OpSchemaBuilder("For")
              .Input("start: int32")
              .Input("limit: int32")
              .Input("delta: int32")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: list(type) >= 0")
              .Attr("body: func")
              .Shape(shapes::UnknownShapes)
              .Doc("Calls body with each number of a range and its own results."));
  ops.Add(Case("StatelessCase"));
  ops.Add(Case("Case").Stateful());
  ops.Add(OpSchemaBuilder("RemoteCall")
              .Input("target: string")
              .Input("args: Tin")
              .Output("output: Tout")
              .Attr("Tin: list(type) >= 1")
              .Attr("Tout: list(type) >= 1")
              .Attr("f: func")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Calls f on the device named target. Not supported: see the kernel's message."));
  ops.Add(OpSchemaBuilder("FakeParam")
              .Output("output: dtype")
              .Attr("dtype: type")
              .Attr("shape: shape")
              .Shape(shapes::UnknownShapes)
              .Doc("Stands for a result that the other branch of a conditional has and this one "
                   "has not; "
                   "its value is never used."));
}

}  // namespace tensorfleet
