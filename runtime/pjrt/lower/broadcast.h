// Shapes of lowered ops.
#pragma once

#include "runtime/base/status.h"
#include "runtime/tensor/shape.h"

namespace tensorfleet::pjrt {

// What two shapes broadcast to. Errors: Unimplemented when they do not fit, so that the op's own
// kernel says so.
StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b);

// Axis `axis` of `rank` dimensions, counted from the end when negative. Errors: Unimplemented.
StatusOr<int> CheckedAxis(int64_t axis, int rank);

}  // namespace tensorfleet::pjrt
