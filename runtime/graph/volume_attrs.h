// The attributes that say how a window slides over volumes, as window_attrs.h has them for images:
// [batch, planes, rows, columns, channels], or the channels second.
#pragma once

#include <array>

#include "runtime/base/status.h"
#include "runtime/graph/attr.h"
#include "runtime/tensor/window.h"

namespace tensorfleet {

struct VolumeAttrs {
  std::array<int64_t, 5> strides = {1, 1, 1, 1, 1};
  std::array<int64_t, 5> dilations = {1, 1, 1, 1, 1};
  std::array<int64_t, 5> ksize = {1, 1, 1, 1, 1};
  Padding padding = Padding::kValid;
  bool channels_first = false;  // NCDHW

  int channel_axis() const { return channels_first ? 1 : 4; }
  // Axis of space 0 (planes), 1 (rows) or 2 (columns).
  int space_axis(int i) const { return (channels_first ? 2 : 1) + i; }
  // The window along space `i`, of `size` taps, over `input` elements. Errors: as MakeWindow.
  StatusOr<Window> AlongSpace(int i, int64_t input, int64_t size) const {
    const int axis = space_axis(i);
    return MakeWindow(input, size, dilations[axis], strides[axis], padding);
  }
};

// Attributes that the node lacks keep their defaults above. Errors: InvalidArgument for lists that
// have not five entries, numbers below 1, and windows, strides or dilations over batch and
// channels.
StatusOr<VolumeAttrs> ReadVolumeAttrs(const tensorflow::NodeDef& node);

}  // namespace tensorfleet
