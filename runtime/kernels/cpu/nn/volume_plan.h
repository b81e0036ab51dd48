// Convolutions and pools over volumes, [batch, planes, rows, columns, channels] here.
#pragma once

#include "runtime/graph/volume_attrs.h"
#include "runtime/kernels/cpu/nn/conv_plan.h"

namespace tensorfleet::cpu {

// The same for volumes as ConvAttrs is for images.
class VolumeConvAttrs {
 public:
  explicit VolumeConvAttrs(KernelInit& init);

  StatusOr<ConvPlan> Plan(const Shape& volume, const Shape& filter) const;
  StatusOr<Tensor> Image(KernelContext& ctx, int i, const char* name) const;
  // The first versions of the gradients take the tensors themselves for their shapes.
  StatusOr<Shape> ImageShape(KernelContext& ctx, int i, const Tensor& filter,
                             const Tensor& out_backprop) const;
  StatusOr<Shape> FilterShape(KernelContext& ctx, int i) const;
  Status SetImage(KernelContext& ctx, Tensor volume) const;

 private:
  const bool takes_tensors_;
  VolumeAttrs window_;
};

// The windows of a pool.
struct VolumePoolPlan {
  std::array<Window, 3> windows;  // along planes, rows and columns
  int64_t batch = 0, channels = 0;
  Shape input, output;  // with channels last

  int64_t positions() const { return windows[0].output * windows[1].output * windows[2].output; }
  // Calls visit(element) with the first channel of each pixel that the window of output `position`
  // of volume `n` holds, in order; returns how many there are.
  template <typename Visit>
  int64_t ForWindow(int64_t n, int64_t position, const Visit& visit) const {
    const int64_t at[3] = {position / windows[2].output / windows[1].output,
                           position / windows[2].output % windows[1].output,
                           position % windows[2].output};
    int64_t first[3], last[3], count = 1;
    for (int d = 0; d < 3; ++d) {
      first[d] = std::max<int64_t>(0, windows[d].Start(at[d]));
      last[d] = std::min(windows[d].Start(at[d]) + windows[d].size, windows[d].input);
      count *= std::max<int64_t>(0, last[d] - first[d]);
    }
    for (int64_t z = first[0]; z < last[0]; ++z) {
      for (int64_t y = first[1]; y < last[1]; ++y) {
        for (int64_t x = first[2]; x < last[2]; ++x) {
          visit((((n * windows[0].input + z) * windows[1].input + y) * windows[2].input + x) *
                channels);
        }
      }
    }
    return count;
  }
  int64_t CostOfPosition() const {
    int64_t pixels = 1;
    for (const Window& window : windows) pixels *= std::min(window.size, window.input);
    return 20 + pixels * (2 + channels / 4);
  }
};

class VolumePoolAttrs {
 public:
  explicit VolumePoolAttrs(KernelInit& init);
  StatusOr<VolumePoolPlan> Plan(const Shape& volume) const;
  // Input `i`, a volume, with channels last.
  StatusOr<Tensor> Volume(const KernelContext& ctx, int i) const;
  // The shape that vector input `i` spells, with channels last.
  StatusOr<Shape> VolumeShape(const KernelContext& ctx, int i) const;
  Status SetVolume(KernelContext& ctx, Tensor volume) const;

 private:
  VolumeAttrs window_;
};

}  // namespace tensorfleet::cpu
