// Shape rules that many ops share, for OpSchemaBuilder::Shape (`.Shape(shapes::Unchanged)`), and
// the pieces that rules are made of.
#pragma once

#include "runtime/base/status.h"
#include "runtime/graph/op_schema.h"
#include "runtime/graph/shape_context.h"
#include "runtime/tensor/shape.h"

namespace tensorfleet::shapes {

// The op has no outputs, or nothing can be said of them before it runs.
Status UnknownShapes(ShapeContext& ctx);
// Every output is a scalar.
Status ScalarOutputs(ShapeContext& ctx);
// Output 0 has the shape of input 0.
Status Unchanged(ShapeContext& ctx);
// All inputs have one shape, and output 0 too. Errors: InvalidArgument when they contradict each
// other.
Status MergeInputs(ShapeContext& ctx);
// Output 0 is inputs 0 and 1 broadcast against each other, NumPy style. Errors: InvalidArgument.
Status Broadcast(ShapeContext& ctx);
// Output 0 is input 0 without the axes in input 1 (or with 1 in their place, by attribute
// `keep_dims`).
Status Reduction(ShapeContext& ctx);
// Input 0 must have `rank` dimensions; output 0 has its shape.
template <int rank>
Status UnchangedOfRank(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, rank));
  return Unchanged(ctx);
}

// What `a` and `b` broadcast to. Errors: InvalidArgument `Dimensions must be equal, but are 2 and 3
// ...`.
StatusOr<PartialShape> BroadcastPartial(const PartialShape& a, const PartialShape& b);

// What both know of one dimension. Errors: InvalidArgument `Dimensions must be equal, but are 2 and
// 3`.
StatusOr<int64_t> MergeDims(int64_t a, int64_t b);

}  // namespace tensorfleet::shapes
