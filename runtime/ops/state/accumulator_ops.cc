// Accumulators of gradients, as synchronous training uses them. Kernels:
// runtime/kernels/cpu/state/accumulator_ops.cc.
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status TwoStrings(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({2}));
  return OkStatus();
}

Status SparseTaken(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape::UnknownOfRank(1));
  ctx.set_output(2, PartialShape::UnknownOfRank(1));
  return OkStatus();
}

OpSchemaBuilder AccumulatorSchema(const char* name, const char* output) {
  return OpSchemaBuilder(name)
      .Output(output)
      .Attr("dtype: numbertype")
      .Attr("shape: shape")
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'")
      .Stateful();
}

// The ops that both forms of handle have.
void AddUses(OpRegistry& ops, const char* prefix, const char* handle, bool is_stateful) {
  const auto use = [&](const char* name) {
    OpSchemaBuilder op(absl::StrCat(prefix, name));
    if (is_stateful) op.Stateful();
    return op.Input(handle).Shape(shapes::UnknownShapes);
  };
  ops.Add(use("AccumulatorApplyGradient")
              .Input("local_step: int64")
              .Input("gradient: dtype")
              .Attr("dtype: numbertype")
              .Doc("Adds a gradient, unless it is of a step that is over."));
  ops.Add(use("AccumulatorTakeGradient")
              .Input("num_required: int32")
              .Output("average: dtype")
              .Attr("dtype: numbertype")
              .Doc("Waits for enough gradients and takes their mean."));
  ops.Add(use("AccumulatorSetGlobalStep")
              .Input("new_global_step: int64")
              .Doc("Drops gradients of earlier steps from now on."));
  ops.Add(use("AccumulatorNumAccumulated")
              .Output("num_accumulated: int32")
              .Shape(shapes::ScalarOutputs)
              .Doc("How many gradients were added since the last take."));
}

}  // namespace

void RegisterAccumulatorOps(OpRegistry& ops) {
  ops.Add(AccumulatorSchema("ConditionalAccumulator", "handle: Ref(string)")
              .Shape(TwoStrings)
              .Doc("Collects gradients of one variable."));
  ops.Add(AccumulatorSchema("SparseConditionalAccumulator", "handle: Ref(string)")
              .Shape(TwoStrings)
              .Doc("Collects gradients of rows of one variable."));
  ops.Add(AccumulatorSchema("ResourceConditionalAccumulator", "handle: resource")
              .Shape(shapes::ScalarOutputs)
              .Doc("Collects gradients of one variable."));
  AddUses(ops, "", "handle: Ref(string)", /*is_stateful=*/false);
  AddUses(ops, "Resource", "handle: resource", /*is_stateful=*/true);
  ops.Add(OpSchemaBuilder("SparseAccumulatorApplyGradient")
              .Input("handle: Ref(string)")
              .Input("local_step: int64")
              .Input("gradient_indices: int64")
              .Input("gradient_values: dtype")
              .Input("gradient_shape: int64")
              .Attr("dtype: numbertype")
              .Attr("has_known_shape: bool")
              .Shape(shapes::UnknownShapes)
              .Doc("Adds a gradient of rows, unless it is of a step that is over."));
  ops.Add(OpSchemaBuilder("SparseAccumulatorTakeGradient")
              .Input("handle: Ref(string)")
              .Input("num_required: int32")
              .Output("indices: int64")
              .Output("values: dtype")
              .Output("shape: int64")
              .Attr("dtype: numbertype")
              .Shape(SparseTaken)
              .Doc("Waits for enough gradients and takes the mean of every row."));
}

}  // namespace tensorfleet
