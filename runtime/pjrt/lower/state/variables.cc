// Reading and writing variables, of both kinds: by handle and by reference.
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

Status ReadVariable(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Hlo value, ctx.Read(0));
  if (value.dtype != ctx.node().output_type(0)) return Unimplemented("another type");
  ctx.Set(0, value);
  return OkStatus();
}

Status AssignValue(LoweringContext& ctx) {
  const VariableState& variable = ctx.variable(0);
  if (ctx.dtype(1) != variable.dtype) return Unimplemented("another type");
  const bool has_shape = variable.is_initialized || variable.is_written;
  const bool fits =
      has_shape ? variable.shape == ctx.shape(1) : variable.declared.IsCompatibleWith(ctx.shape(1));
  if (ctx.BoolAttr("validate_shape") && !fits) return Unimplemented("a value of another shape");
  ctx.Write(0, ctx.input(1));
  return OkStatus();
}

Status Update(LoweringContext& ctx, const char* opcode) {
  TFLEET_ASSIGN_OR_RETURN(const Hlo value, ctx.Read(0));
  const Hlo delta = ctx.input(1);
  if (delta.shape != value.shape || delta.dtype != value.dtype) {
    return Unimplemented("a value of another shape or type");
  }
  ctx.Write(0, ctx.hlo().Binary(opcode, value, delta));
  return OkStatus();
}

Status AssignAdd(LoweringContext& ctx) { return Update(ctx, "add"); }
Status AssignSub(LoweringContext& ctx) { return Update(ctx, "subtract"); }

}  // namespace

void AddVariableLowerings(LoweringRegistry& r) {
  const std::vector<DType>& any = AllTypes();
  const std::vector<DType>& numbers = NumberTypes();
  r.Add("ReadVariableOp", ReadVariable, {{"dtype", any}}).is_light = true;
  r.Add("AssignVariableOp", AssignValue, {{"dtype", any}}).is_light = true;
  r.Add("Assign", AssignValue, {{"T", any}}).is_light = true;
  r.Add("AssignAddVariableOp", AssignAdd, {{"dtype", numbers}});
  r.Add("AssignSubVariableOp", AssignSub, {{"dtype", numbers}});
  r.Add("AssignAdd", AssignAdd, {{"T", numbers}});
  r.Add("AssignSub", AssignSub, {{"T", numbers}});
}

}  // namespace tensorfleet::pjrt
