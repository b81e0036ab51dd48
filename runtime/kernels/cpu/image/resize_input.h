// What the ops that resize images have in common: sizes, scales, and where a pixel comes from.
#pragma once

#include <algorithm>
#include <cmath>

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

// Images [batch, height, width, channels] and the size that they get.
struct ResizePlan {
  int64_t batch = 0, height = 0, width = 0, channels = 0;
  int64_t out_height = 0, out_width = 0;
  float height_scale = 0, width_scale = 0;  // input pixels for one of the output

  int64_t in_row() const { return width * channels; }
  int64_t out_row() const { return out_width * channels; }
  // Memory for the resized images. Errors: ResourceExhausted.
  StatusOr<Tensor> Output(DType type) const {
    return Tensor::Allocate(type, {batch, out_height, out_width, channels});
  }
};

// How positions are reckoned.
struct ResizeGrid {
  bool align_corners = false;
  bool half_pixels = false;

  ResizeGrid() = default;
  // Reads the attributes that the node has; both together fail it.
  explicit ResizeGrid(KernelInit& init);
  // How many of `in` pixels one of `out` is.
  float Scale(int64_t in, int64_t out) const {
    return align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                    : static_cast<float>(in) / static_cast<float>(out);
  }
  // The position of pixel `i`, by interpolation between pixels.
  float At(int64_t i, float scale) const {
    return half_pixels ? (static_cast<float>(i) + 0.5f) * scale - 0.5f
                       : static_cast<float>(i) * scale;
  }
  // The pixel of `limit` that is nearest.
  int64_t Nearest(int64_t i, float scale, int64_t limit) const {
    const float at = (static_cast<float>(i) + (half_pixels ? 0.5f : 0.0f)) * scale;
    const auto pixel = static_cast<int64_t>(align_corners ? std::roundf(at) : std::floor(at));
    return std::clamp<int64_t>(pixel, 0, limit - 1);
  }
};

// The plan of a node with images and a size as inputs 0 and 1. Errors: InvalidArgument.
StatusOr<ResizePlan> PlanResize(const KernelContext& ctx, const ResizeGrid& grid);
// Of a gradient: `grads` (input 0) come from images of the shape of input 1.
StatusOr<ResizePlan> PlanResizeGrad(const KernelContext& ctx, const ResizeGrid& grid);
// A vector of two positive numbers. Errors: InvalidArgument.
StatusOr<std::pair<int64_t, int64_t>> OutputSize(const Tensor& size);

// Runs body(image, y) for every row of all images; `row_cost` is in nanoseconds.
template <typename Body>
void ForEachRow(const KernelContext& ctx, int64_t images, int64_t rows, int64_t row_cost,
                const Body& body) {
  ParallelFor(ctx, images * rows, std::max<int64_t>(1, row_cost), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i / rows, i % rows);
  });
}

}  // namespace tensorfleet::cpu
