// Ops that cut a box out of a tensor.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"
#include "runtime/tensor/strided_slice.h"

namespace tensorfleet {
namespace {

// Values that the kernel will refuse leave their dimensions open.
Status SliceShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  const auto begin = shapes::ConstantIntegers(ctx, 1);
  const auto size = shapes::ConstantIntegers(ctx, 2);
  int rank = in.has_rank() ? in.rank() : -1;
  if (rank < 0 && size) rank = static_cast<int>(size->size());
  if (rank < 0) return OkStatus();
  PartialShape out = PartialShape::UnknownOfRank(rank);
  const bool fits = (!begin || static_cast<int>(begin->size()) == rank) &&
                    (!size || static_cast<int>(size->size()) == rank);
  for (int i = 0; i < rank && size && fits; ++i) {
    const int64_t wanted = (*size)[i];
    if (wanted >= 0) {
      out.set_dim(i, wanted);
    } else if (wanted == -1 && begin && in.has_rank() && in.has_dim(i)) {
      const int64_t rest = in.dim(i) - (*begin)[i];
      if ((*begin)[i] >= 0 && rest >= 0) out.set_dim(i, rest);
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// Begin, end and strides are inputs 1, 2 and 3.
Status StridedSliceShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  const auto begin = shapes::ConstantIntegers(ctx, 1);
  const auto end = shapes::ConstantIntegers(ctx, 2);
  auto strides = shapes::ConstantIntegers(ctx, 3);
  if (!in.has_rank()) return OkStatus();
  StridedSliceSpec spec;
  TFLEET_ASSIGN_OR_RETURN(spec.masks.begin, ctx.Attr<int64_t>("begin_mask"));
  TFLEET_ASSIGN_OR_RETURN(spec.masks.end, ctx.Attr<int64_t>("end_mask"));
  TFLEET_ASSIGN_OR_RETURN(spec.masks.ellipsis, ctx.Attr<int64_t>("ellipsis_mask"));
  TFLEET_ASSIGN_OR_RETURN(spec.masks.new_axis, ctx.Attr<int64_t>("new_axis_mask"));
  TFLEET_ASSIGN_OR_RETURN(spec.masks.shrink, ctx.Attr<int64_t>("shrink_axis_mask"));
  // Without the strides the number of entries may still be known, and with it the rank.
  const bool strides_known = strides.has_value();
  if (!strides_known) {
    const PartialShape& entries = ctx.input(3);
    if (!entries.has_rank() || entries.rank() != 1 || !entries.has_dim(0)) return OkStatus();
    strides = std::vector<int64_t>(entries.dim(0), 1);
  }
  spec.strides = *strides;
  if (begin && strides_known) spec.begin = absl::MakeConstSpan(*begin);
  if (end && strides_known) spec.end = absl::MakeConstSpan(*end);
  TFLEET_ASSIGN_OR_RETURN(StridedSlicePlan plan, PlanStridedSlice(in, spec));
  if (!strides_known) plan.result = PartialShape::UnknownOfRank(plan.result.rank());
  ctx.set_output(0, std::move(plan.result));
  return OkStatus();
}

OpSchemaBuilder& AddMasks(OpSchemaBuilder& op) {
  for (const char* mask :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    op.Attr(absl::StrCat(mask, ": int = 0"));
  }
  return op;
}

}  // namespace

void RegisterSliceOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Slice")
              .Input("input: T")
              .Input("begin: Index")
              .Input("size: Index")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Index: {int32, int64}")
              .Shape(SliceShape)
              .Doc("The box of given size at a given place; a size of -1 takes the rest."));
  OpSchemaBuilder slice("StridedSlice");
  slice.Input("input: T")
      .Input("begin: Index")
      .Input("end: Index")
      .Input("strides: Index")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Index: {int16, int32, int64}");
  ops.Add(AddMasks(slice)
              .Shape(StridedSliceShape)
              .Doc("What x[begin:end:stride, ...] means in Python; the masks say which entries are "
                   "left out, new axes or indices."));
  OpSchemaBuilder gradient("StridedSliceGrad");
  gradient.Input("shape: Index")
      .Input("begin: Index")
      .Input("end: Index")
      .Input("strides: Index")
      .Input("dy: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Index: {int32, int64}");
  ops.Add(AddMasks(gradient)
              .Shape(shapes::ShapeFromVector<0>)
              .Doc("dy at the places that StridedSlice reads, zeros elsewhere."));
}

}  // namespace tensorfleet
