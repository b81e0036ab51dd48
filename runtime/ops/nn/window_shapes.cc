#include "runtime/ops/nn/window_shapes.h"

namespace tensorfleet::shapes {

StatusOr<PartialShape> SlidOver(const WindowAttrs& attrs, const PartialShape& image,
                                std::array<int64_t, 2> sizes) {
  PartialShape out = image;
  for (int i = 0; i < 2; ++i) {
    const int axis = attrs.space_axis(i);
    if (!image.has_dim(axis) || sizes[i] == PartialShape::kUnknownDim) {
      out.set_dim(axis, PartialShape::kUnknownDim);
      continue;
    }
    TFLEET_ASSIGN_OR_RETURN(const Window window, attrs.AlongSpace(i, image.dim(axis), sizes[i]));
    out.set_dim(axis, window.output);
  }
  return out;
}

}  // namespace tensorfleet::shapes
