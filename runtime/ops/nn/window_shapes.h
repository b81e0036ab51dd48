// Shape rules of ops that slide windows over images.
#pragma once

#include "runtime/graph/shape_context.h"
#include "runtime/graph/window_attrs.h"

namespace tensorfleet::shapes {

// `image` (of rank 4) after windows of `sizes` taps slid over its two spaces; -1 where unknown.
// Batch and channels stay. Errors: InvalidArgument for a window that does not fit.
StatusOr<PartialShape> SlidOver(const WindowAttrs& attrs, const PartialShape& image,
                                std::array<int64_t, 2> sizes);

// The shape when it has a rank, else four open dimensions.
inline PartialShape ImageOrOpen(const PartialShape& shape) {
  return shape.has_rank() ? shape : PartialShape::UnknownOfRank(4);
}

}  // namespace tensorfleet::shapes
