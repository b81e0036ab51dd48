// What a pool computes: windows over images, which are [batch, rows, columns, channels] here. For a
// window over the channels instead, every pixel counts as an image whose columns are the channels.
#pragma once

#include <algorithm>

#include "runtime/graph/window_attrs.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet::cpu {

struct PoolPlan {
  Window rows, columns;
  int64_t batch = 0, channels = 0;
  Shape output;  // with channels last

  int64_t image_size() const { return rows.input * columns.input * channels; }
  int64_t out_size() const { return rows.output * columns.output * channels; }
  // Where a pixel's channels begin.
  int64_t ImageAt(int64_t n, int64_t y, int64_t x) const {
    return ((n * rows.input + y) * columns.input + x) * channels;
  }
  int64_t OutAt(int64_t n, int64_t y, int64_t x) const {
    return ((n * rows.output + y) * columns.output + x) * channels;
  }
  // Roughly what one output pixel costs, in nanoseconds.
  int64_t CostOfPixel() const {
    const int64_t pixels = std::min(rows.size, rows.input) * std::min(columns.size, columns.input);
    return 10 + pixels * (1 + channels / 4);
  }

  // Calls visit(from, count) for the pixels of the window of output (out_y, out_x) of image `n`: a
  // row of them at a time, `count` neighbours from element `from` on.
  template <typename Visit>
  void ForWindow(int64_t n, int64_t out_y, int64_t out_x, const Visit& visit) const {
    const int64_t top = std::max<int64_t>(0, rows.Start(out_y));
    const int64_t bottom = std::min(rows.Start(out_y) + rows.size, rows.input);
    const int64_t left = std::max<int64_t>(0, columns.Start(out_x));
    const int64_t right = std::min(columns.Start(out_x) + columns.size, columns.input);
    if (right <= left) return;
    for (int64_t y = top; y < bottom; ++y) visit(ImageAt(n, y, left), right - left);
  }
};

class PoolAttrs {
 public:
  // Inputs `window_input` and the next are ksize and strides in ops that take them so; -1 for
  // attributes.
  explicit PoolAttrs(KernelInit& init, int window_input = -1);

  // `image` with channels last. Errors: InvalidArgument; Unimplemented for windows over the batch,
  // or over channels and space at once.
  StatusOr<PoolPlan> Plan(const KernelContext& ctx, const Shape& image) const;
  // Input `i`, an image, with channels last. Errors: InvalidArgument unless it has rank 4.
  StatusOr<Tensor> Image(const KernelContext& ctx, int i) const;
  // The image's shape with channels last, as vector input `i` spells it in the node's own format.
  StatusOr<Shape> ImageShape(const KernelContext& ctx, int i) const;
  // Sets output `i` to `image`, brought into the node's own format.
  Status SetImage(KernelContext& ctx, int i, Tensor image) const;

 private:
  const int window_input_;
  WindowAttrs window_;
};

}  // namespace tensorfleet::cpu
