// Joining strings by segments. Kernel: runtime/kernels/cpu/string/segment_join.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status SegmentJoinShape(ShapeContext& ctx) {
  const PartialShape &in = ctx.input(0), &ids = ctx.input(1);
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 0));
  if (!in.has_rank() || !ids.has_rank()) return OkStatus();
  if (ids.rank() > in.rank()) {
    return InvalidArgument("segment_ids of rank ", ids.rank(), " for inputs of rank ", in.rank());
  }
  const auto count = shapes::ConstantInteger(ctx, 2);
  if (count && *count < 0) return InvalidArgument("num_segments is negative: ", *count);
  ctx.set_output(0, shapes::Joined(shapes::VectorOf(count.value_or(PartialShape::kUnknownDim)),
                                   shapes::Part(in, ids.rank(), in.rank())));
  return OkStatus();
}

}  // namespace

void RegisterSegmentJoinOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("UnsortedSegmentJoin")
              .Input("inputs: string")
              .Input("segment_ids: Tindices")
              .Input("num_segments: Tnumsegments")
              .Output("output: string")
              .Attr("separator: string = ''")
              .Attr("Tindices: {int32, int64}")
              .Attr("Tnumsegments: {int32, int64} = DT_INT32")
              .Shape(SegmentJoinShape)
              .Doc("The strings of each segment joined with a separator."));
}

}  // namespace tensorfleet
