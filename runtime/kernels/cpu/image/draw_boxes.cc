// DrawBoundingBoxes, both versions. Schemas: runtime/ops/image/image_ops.cc.
#include <algorithm>
#include <vector>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

using Color = std::array<float, 4>;

std::vector<Color> DefaultColors() {
  return {{1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
          {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};
}

// The pixel of a relative coordinate, far outside when it is no number that one could draw.
int64_t PixelOf(float relative, int64_t size) {
  const float at = relative * static_cast<float>(size - 1);
  if (!(at > -1e9f)) return -1'000'000'000;
  return at < 1e9f ? static_cast<int64_t>(at) : 1'000'000'000;
}

template <typename T>
class DrawBoxes final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor &images = ctx.input(0), &boxes = ctx.input(1);
    if (images.rank() != 4) {
      return InvalidArgument("The rank of the images should be 4, got shape ",
                             images.shape().ToString());
    }
    if (boxes.rank() != 3) {
      return InvalidArgument("The rank of the boxes tensor should be 3, got shape ",
                             boxes.shape().ToString());
    }
    if (images.dim(0) != boxes.dim(0)) {
      return InvalidArgument("The batch sizes should be the same, not ", images.dim(0), " and ",
                             boxes.dim(0));
    }
    const int64_t depth = images.dim(3);
    if (depth != 4 && depth != 1 && depth != 3) {
      return InvalidArgument("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
    }
    if (boxes.dim(2) != 4) return InvalidArgument("boxes must have 4 coordinates");
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Color> colors, Colors(ctx, depth));
    const Tensor corners = boxes;
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, images.shape()));
    const auto from = images.values<T>();
    std::copy(from.begin(), from.end(), out.mutable_values<T>().begin());
    if (out.num_elements() > 0) {
      ParallelFor(ctx, out.dim(0), 1000 * boxes.dim(1), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          for (int64_t k = 0; k < boxes.dim(1); ++k) {
            Draw(out, b, boxes.values<float>().data() + (b * boxes.dim(1) + k) * 4,
                 colors[k % static_cast<int64_t>(colors.size())]);
          }
        }
      });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static StatusOr<std::vector<Color>> Colors(const KernelContext& ctx, int64_t depth) {
    std::vector<Color> colors = DefaultColors();
    // On a grey image every box is white, unless colours are given.
    if (depth == 1) {
      for (Color& color : colors) color[0] = 1;
    }
    if (ctx.num_inputs() > 2) {
      const Tensor& given = ctx.input(2);
      if (given.rank() != 2) {
        return InvalidArgument("colors must be a 2-D matrix, got ", given.shape().ToString());
      }
      if (given.dim(1) < depth) {
        return InvalidArgument("colors must have equal or more channels than the image provided: ",
                               given.dim(1), " vs. ", depth);
      }
      if (given.dim(0) > 0) colors.assign(given.dim(0), Color{});
      for (int64_t i = 0; i < given.dim(0); ++i) {
        for (int64_t c = 0; c < depth; ++c) {
          colors[i][c] = given.values<float>()[i * given.dim(1) + c];
        }
      }
    }
    return colors;
  }

  static void Draw(Tensor& images, int64_t b, const float* box, const Color& color) {
    const int64_t height = images.dim(1), width = images.dim(2), depth = images.dim(3);
    T* const image = images.mutable_values<T>().data() + b * height * width * depth;
    const int64_t top = PixelOf(box[0], height), left = PixelOf(box[1], width);
    const int64_t bottom = PixelOf(box[2], height), right = PixelOf(box[3], width);
    if (top > bottom || left > right) return;
    if (top >= height || bottom < 0 || left >= width || right < 0) return;
    const auto set = [&](int64_t y, int64_t x) {
      T* const pixel = image + (y * width + x) * depth;
      for (int64_t c = 0; c < depth; ++c) pixel[c] = static_cast<T>(color[c]);
    };
    for (int64_t x = std::max<int64_t>(left, 0); x <= std::min(right, width - 1); ++x) {
      if (top >= 0) set(top, x);
      if (bottom < height) set(bottom, x);
    }
    for (int64_t y = std::max<int64_t>(top, 0); y <= std::min(bottom, height - 1); ++y) {
      if (left >= 0) set(y, left);
      if (right < width) set(y, right);
    }
  }
};

}  // namespace

void RegisterDrawBoxesKernels(KernelRegistry& r) {
  for (const char* op : {"DrawBoundingBoxes", "DrawBoundingBoxesV2"}) {
    AddForTypes<DrawBoxes>(r, op, Types<float, Eigen::half>());
  }
}

}  // namespace tensorfleet::cpu
