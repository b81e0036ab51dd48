// What a convolution computes: shapes checked and windows placed, once for the convolution and its
// two gradients. Images are [batch, rows, columns, channels] here, volumes [batch, planes, rows,
// columns, channels].
#pragma once

#include <string>

#include "runtime/graph/window_attrs.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet::cpu {

struct ConvPlan {
  Window planes{.input = 1, .output = 1};  // of images, one
  Window rows, columns;
  bool is_volume = false;
  int64_t batch = 0, in_channels = 0, out_channels = 0;
  int64_t groups = 1;  // depthwise: one for each channel

  int64_t depth() const { return in_channels / groups; }  // in channels that one output sees
  int64_t patch() const { return planes.size * rows.size * columns.size * depth(); }
  int64_t positions_per_image() const { return planes.output * rows.output * columns.output; }
  int64_t positions() const { return batch * positions_per_image(); }
  double multiplications() const {
    return static_cast<double>(positions()) * patch() * out_channels;
  }
  // Patches are the image's pixels as they lie.
  bool is_pointwise() const {
    for (const Window* window : {&planes, &rows, &columns}) {
      if (window->size != 1 || window->stride != 1 || window->before + window->after != 0) {
        return false;
      }
    }
    return groups == 1;
  }
  // What comes in, and what Convolve makes: ConvAttrs::Plan has seen that they fit, and so do
  // parts.
  Shape image() const {
    return is_volume
               ? Shape::Make({batch, planes.input, rows.input, columns.input, in_channels}).value()
               : Shape::Make({batch, rows.input, columns.input, in_channels}).value();
  }
  Shape output() const {
    return is_volume
               ? Shape::Make({batch, planes.output, rows.output, columns.output, out_channels})
                     .value()
               : Shape::Make({batch, rows.output, columns.output, out_channels}).value();
  }
};

// The attributes of one node, and what follows from them for given shapes.
class ConvAttrs {
 public:
  explicit ConvAttrs(KernelInit& init);

  bool channels_first() const { return window_.channels_first; }
  // `image` with channels last. Errors: InvalidArgument for shapes that do not fit together or a
  // window that does not fit the image.
  StatusOr<ConvPlan> Plan(const Shape& image, const Shape& filter) const;

  // Input `i`, an image, with channels last. Errors: InvalidArgument unless it has four dimensions.
  StatusOr<Tensor> Image(KernelContext& ctx, int i, const char* name) const;
  // The image's shape with channels last, as vector input `i` spells it in the node's own format;
  // two numbers are its spaces, with batch and channels from the other two arguments.
  StatusOr<Shape> ImageShape(KernelContext& ctx, int i, const Tensor& filter,
                             const Tensor& out_backprop) const;
  // What vector input `i` spells.
  StatusOr<Shape> FilterShape(KernelContext& ctx, int i) const;
  // Sets output 0 to `image`, brought into the node's own format.
  Status SetImage(KernelContext& ctx, Tensor image) const;

 private:
  bool is_depthwise_;
  WindowAttrs window_;
};

// Errors: InvalidArgument unless `out_backprop` has the shape that the plan gives.
Status CheckOutBackprop(const KernelContext& ctx, const ConvPlan& plan, const Shape& out_backprop);

}  // namespace tensorfleet::cpu
