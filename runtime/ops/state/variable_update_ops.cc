// Updates of parts of variables: rows (Scatter*), index tuples (ScatterNd*), strided slices; and
// gathers from resource variables. Kernels: runtime/kernels/cpu/state/scatter_*.cc,
// resource_gather.cc, strided_slice_assign.cc.
#include "absl/strings/str_cat.h"
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// Index tuples name entries of the variable: the last dimension is as long as a tuple.
Status ScatterNdShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(1, 1));
  return ctx.num_outputs() > 0 ? shapes::Unchanged(ctx) : OkStatus();
}

void AddScatter(OpRegistry& ops, const char* what, const char* types) {
  const bool is_update = absl::string_view(what) == "Update";
  ops.Add(OpSchemaBuilder(absl::StrCat("Scatter", what))
              .Input("ref: Ref(T)")
              .Input("indices: Tindices")
              .Input("updates: T")
              .Output("output_ref: Ref(T)")
              .Attr(absl::StrCat("T: ", types))
              .Attr("Tindices: {int32, int64}")
              .Attr(is_update ? "use_locking: bool = true" : "use_locking: bool = false")
              .Shape(shapes::Unchanged)
              .Doc("Combines rows of the variable with rows of `updates`."));
  ops.Add(OpSchemaBuilder(absl::StrCat("ResourceScatter", what))
              .Input("resource: resource")
              .Input("indices: Tindices")
              .Input("updates: dtype")
              .Attr(is_update ? "dtype: type" : "dtype: numbertype")
              .Attr("Tindices: {int32, int64}")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Combines rows of the variable with rows of `updates`."));
}

void AddScatterNd(OpRegistry& ops, const char* what) {
  const bool is_update = absl::string_view(what) == "Update";
  ops.Add(OpSchemaBuilder(absl::StrCat("ScatterNd", what))
              .Input("ref: Ref(T)")
              .Input("indices: Tindices")
              .Input("updates: T")
              .Output("output_ref: Ref(T)")
              .Attr(is_update ? "T: type" : "T: numbertype")
              .Attr("Tindices: {int32, int64}")
              .Attr(is_update ? "use_locking: bool = true" : "use_locking: bool = false")
              .Shape(ScatterNdShape)
              .Doc("Combines the slices of the variable that index tuples name with `updates`."));
  ops.Add(OpSchemaBuilder(absl::StrCat("ResourceScatterNd", what))
              .Input("ref: resource")
              .Input("indices: Tindices")
              .Input("updates: T")
              .Attr("T: type")
              .Attr("Tindices: {int32, int64}")
              .Attr("use_locking: bool = true")
              .Stateful()
              .Shape(ScatterNdShape)
              .Doc("Combines the slices of the variable that index tuples name with `updates`."));
}

OpSchemaBuilder StridedSliceAssignSchema(const char* name, const char* ref) {
  return OpSchemaBuilder(name)
      .Input(ref)
      .Input("begin: Index")
      .Input("end: Index")
      .Input("strides: Index")
      .Input("value: T")
      .Attr("T: type")
      .Attr("Index: {int32, int64}")
      .Attr("begin_mask: int = 0")
      .Attr("end_mask: int = 0")
      .Attr("ellipsis_mask: int = 0")
      .Attr("new_axis_mask: int = 0")
      .Attr("shrink_axis_mask: int = 0")
      .Doc("Assigns to a strided slice of the variable.");
}

}  // namespace

void RegisterVariableUpdateOps(OpRegistry& ops) {
  for (const char* what : {"Add", "Sub", "Mul", "Div"}) AddScatter(ops, what, "numbertype");
  for (const char* what : {"Min", "Max"}) {
    AddScatter(ops, what, "{half, bfloat16, float, double, int32, int64}");
  }
  AddScatter(ops, "Update", "type");
  for (const char* what : {"Add", "Sub", "Min", "Max", "Update"}) AddScatterNd(ops, what);
  ops.Add(StridedSliceAssignSchema("StridedSliceAssign", "ref: Ref(T)")
              .Output("output_ref: Ref(T)")
              .Shape(shapes::Unchanged));
  ops.Add(StridedSliceAssignSchema("ResourceStridedSliceAssign", "ref: resource")
              .Stateful()
              .Shape(shapes::UnknownShapes));
  ops.Add(OpSchemaBuilder("ResourceGather")
              .Input("resource: resource")
              .Input("indices: Tindices")
              .Output("output: dtype")
              .Attr("batch_dims: int = 0")
              .Attr("validate_indices: bool = true")
              .Attr("dtype: type")
              .Attr("Tindices: {int32, int64}")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Rows of the variable."));
  ops.Add(OpSchemaBuilder("ResourceGatherNd")
              .Input("resource: resource")
              .Input("indices: Tindices")
              .Output("output: dtype")
              .Attr("dtype: type")
              .Attr("Tindices: {int32, int64}")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("The slices of the variable that index tuples name."));
}

}  // namespace tensorfleet
