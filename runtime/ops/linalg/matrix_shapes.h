// Shape rules that ops on square matrices share.
#pragma once

#include "runtime/ops/shape_rules.h"

namespace tensorfleet::shapes {

// The last two dimensions of input 0 must be alike.
inline Status CheckSquare(const ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 2));
  const PartialShape& in = ctx.input(0);
  return in.has_rank() ? MergeDims(in.dim(-2), in.dim(-1)).status() : OkStatus();
}

inline Status SquareUnchanged(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckSquare(ctx));
  return Unchanged(ctx);
}

}  // namespace tensorfleet::shapes
