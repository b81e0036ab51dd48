// Variables: by reference edge (VariableV2 and the ops that take Ref inputs) and by resource
// handle. Kernels: runtime/kernels/cpu/state/ref_variables.cc, resource_variables.cc.
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status DeclaredShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("shape"));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

// The old op wrote a scalar when it meant "unknown".
Status DeclaredShapeOfOldVariable(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("shape"));
  if (shape.has_rank() && shape.rank() > 0) ctx.set_output(0, std::move(shape));
  return OkStatus();
}

Status AssignShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(bool validate, ctx.Attr<bool>("validate_shape"));
  if (!validate) {
    ctx.set_output(0, ctx.input(1));
    return OkStatus();
  }
  TFLEET_ASSIGN_OR_RETURN(PartialShape merged, ctx.input(0).MergedWith(ctx.input(1)));
  ctx.set_output(0, std::move(merged));
  return OkStatus();
}

Status VectorShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape::UnknownOfRank(1));
  return OkStatus();
}

Status CountUpToShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 0));
  return shapes::ScalarOutputs(ctx);
}

void RegisterRefVariableOps(OpRegistry& ops) {
  for (const char* name : {"VariableV2", "Variable"}) {
    ops.Add(OpSchemaBuilder(name)
                .Output("ref: Ref(dtype)")
                .Attr("shape: shape")
                .Attr("dtype: type")
                .Attr("container: string = ''")
                .Attr("shared_name: string = ''")
                .Stateful()
                .Shape(absl::string_view(name) == "Variable" ? DeclaredShapeOfOldVariable
                                                             : DeclaredShape)
                .Doc("State that outlives a step, handed out by reference."));
  }
  ops.Add(OpSchemaBuilder("TemporaryVariable")
              .Output("ref: Ref(dtype)")
              .Attr("shape: shape")
              .Attr("dtype: type")
              .Attr("var_name: string = ''")
              .Stateful()
              .Shape(DeclaredShape)
              .Doc("A variable that lives within one step."));
  ops.Add(OpSchemaBuilder("DestroyTemporaryVariable")
              .Input("ref: Ref(T)")
              .Output("value: T")
              .Attr("T: type")
              .Attr("var_name: string")
              .Shape(shapes::Unchanged)
              .Doc("Ends a temporary variable and returns its last value."));
  ops.Add(OpSchemaBuilder("IsVariableInitialized")
              .Input("ref: Ref(dtype)")
              .Output("is_initialized: bool")
              .Attr("dtype: type")
              .AllowsUninitializedInput()
              .Shape(shapes::ScalarOutputs)
              .Doc("Whether the variable was ever assigned."));
  ops.Add(OpSchemaBuilder("Assign")
              .Input("ref: Ref(T)")
              .Input("value: T")
              .Output("output_ref: Ref(T)")
              .Attr("T: type")
              .Attr("validate_shape: bool = true")
              .Attr("use_locking: bool = true")
              .AllowsUninitializedInput()
              .Shape(AssignShape)
              .Doc("Replaces the variable's value."));
  for (const char* name : {"AssignAdd", "AssignSub"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("ref: Ref(T)")
                .Input("value: T")
                .Output("output_ref: Ref(T)")
                .Attr("T: numbertype")
                .Attr("use_locking: bool = false")
                .Shape(shapes::MergeInputs)
                .Doc("Adds to, or subtracts from, the variable's value."));
  }
  ops.Add(OpSchemaBuilder("CountUpTo")
              .Input("ref: Ref(T)")
              .Output("output: T")
              .Attr("limit: int")
              .Attr("T: {int32, int64}")
              .Shape(CountUpToShape)
              .Doc("Returns the variable's value and adds one to it, up to a limit."));
}

void RegisterResourceVariableOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("VarHandleOp")
              .Output("resource: resource")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Attr("debug_name: string = ''")
              .Attr("dtype: type")
              .Attr("shape: shape")
              .Attr("allowed_devices: list(string) = []")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("The handle of a variable, which the first assignment makes."));
  ops.Add(OpSchemaBuilder("_VarHandlesOp")
              .Output("resources: N * resource")
              .Attr("containers: list(string)")
              .Attr("shared_names: list(string)")
              .Attr("N: int >= 0")
              .Attr("dtypes: list(type)")
              .Attr("shapes: list(shape)")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Several VarHandleOps in one, as TensorFlow's optimiser fuses them."));
  ops.Add(OpSchemaBuilder("ReadVariableOp")
              .Input("resource: resource")
              .Output("value: dtype")
              .Attr("dtype: type")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("The variable's present value; later assignments do not change it."));
  ops.Add(OpSchemaBuilder("_ReadVariablesOp")
              .Input("resources: N * resource")
              .Output("values: dtypes")
              .Attr("N: int >= 0")
              .Attr("dtypes: list(type) >= 1")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Several ReadVariableOps in one, as TensorFlow's optimiser fuses them."));
  ops.Add(OpSchemaBuilder("AssignVariableOp")
              .Input("resource: resource")
              .Input("value: dtype")
              .Attr("dtype: type")
              .Attr("validate_shape: bool = false")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Replaces the variable's value; makes the variable when it does not exist."));
  for (const char* name : {"AssignAddVariableOp", "AssignSubVariableOp"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("resource: resource")
                .Input("value: dtype")
                .Attr("dtype: type")
                .Stateful()
                .Shape(shapes::UnknownShapes)
                .Doc("Adds to, or subtracts from, the variable's value."));
  }
  ops.Add(OpSchemaBuilder("VarIsInitializedOp")
              .Input("resource: resource")
              .Output("is_initialized: bool")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Whether the variable exists and holds a value."));
  ops.Add(OpSchemaBuilder("VariableShape")
              .Input("input: resource")
              .Output("output: out_type")
              .Attr("out_type: {int32, int64} = DT_INT32")
              .Stateful()
              .Shape(VectorShape)
              .Doc("The shape of the variable's value."));
  ops.Add(OpSchemaBuilder("DestroyResourceOp")
              .Input("resource: resource")
              .Attr("ignore_lookup_error: bool = true")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Removes the resource from its device."));
  ops.Add(OpSchemaBuilder("DisableCopyOnRead")
              .Input("resource: resource")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Accepted for compatibility: a read never copies here."));
  ops.Add(OpSchemaBuilder("ResourceCountUpTo")
              .Input("resource: resource")
              .Output("output: T")
              .Attr("limit: int")
              .Attr("T: {int32, int64}")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Returns the variable's value and adds one to it, up to a limit."));
}

}  // namespace

void RegisterVariableOps(OpRegistry& ops) {
  RegisterRefVariableOps(ops);
  RegisterResourceVariableOps(ops);
}

}  // namespace tensorfleet
