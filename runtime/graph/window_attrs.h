// The attributes that say how a window slides over images: strides, dilations, ksize, padding,
// explicit_paddings and data_format. Read by the shape rules and the kernels of convolutions and
// pools.
#pragma once

#include <array>

#include "runtime/base/status.h"
#include "runtime/graph/attr.h"
#include "runtime/tensor/window.h"

namespace tensorfleet {

struct WindowAttrs {
  std::array<int64_t, 4> strides = {1, 1, 1, 1};
  std::array<int64_t, 4> dilations = {1, 1, 1, 1};
  std::array<int64_t, 4> ksize = {1, 1, 1, 1};
  std::array<int64_t, 8> paddings = {};  // explicit ones: before and after, axis by axis
  Padding padding = Padding::kValid;
  bool channels_first = false;  // NCHW

  int channel_axis() const { return channels_first ? 1 : 3; }
  // Axis of space 0 (rows) or 1 (columns).
  int space_axis(int i) const { return (channels_first ? 2 : 1) + i; }

  // The window along space `i`, of `size` taps, over `input` elements. Errors: as MakeWindow.
  StatusOr<Window> AlongSpace(int i, int64_t input, int64_t size) const;
};

// Attributes that the node lacks keep their defaults above. Errors: InvalidArgument for lists that
// have not four entries (eight paddings), numbers below 1, and explicit paddings without padding
// EXPLICIT or over batch and channels; Unimplemented for dilations over batch or channels and for a
// data_format other than NHWC and NCHW.
StatusOr<WindowAttrs> ReadWindowAttrs(const tensorflow::NodeDef& node);

// Four numbers of a list or input called `name`, each at least 1. Errors: InvalidArgument.
StatusOr<std::array<int64_t, 4>> WindowNumbers(absl::string_view name,
                                               absl::Span<const int64_t> values);

}  // namespace tensorfleet
