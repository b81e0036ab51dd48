// ResizeNearestNeighbor and its gradient. Schemas: runtime/ops/image/resize_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/image/resize_input.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

std::vector<int64_t> NearestPixels(const ResizeGrid& grid, int64_t count, float scale,
                                   int64_t limit) {
  std::vector<int64_t> pixels(count);
  for (int64_t i = 0; i < count; ++i) pixels[i] = grid.Nearest(i, scale, limit);
  return pixels;
}

class ResizeNearest final : public Kernel {
 public:
  explicit ResizeNearest(KernelInit& init) : grid_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResizePlan plan, PlanResize(ctx, grid_));
    const Tensor& images = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, plan.Output(images.dtype()));
    if (out.num_elements() > 0) {
      VisitElement(images.dtype(),
                   [&](auto tag) { Resize<typename decltype(tag)::Type>(ctx, plan, images, out); });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  template <typename E>
  void Resize(const KernelContext& ctx, const ResizePlan& plan, const Tensor& images,
              Tensor& out) const {
    const std::vector<int64_t> columns =
        NearestPixels(grid_, plan.out_width, plan.width_scale, plan.width);
    const E* const from = ElementsOf<E>(images);
    E* const to = MutableElementsOf<E>(out);
    const int64_t channels = plan.channels;
    ForEachRow(ctx, plan.batch, plan.out_height, plan.out_row(), [&](int64_t b, int64_t y) {
      const int64_t row = grid_.Nearest(y, plan.height_scale, plan.height);
      const E* const in = from + (b * plan.height + row) * plan.in_row();
      E* pixel = to + (b * plan.out_height + y) * plan.out_row();
      for (const int64_t x : columns) {
        pixel = std::copy(in + x * channels, in + (x + 1) * channels, pixel);
      }
    });
  }

  const ResizeGrid grid_;
};

template <typename T>
class ResizeNearestGrad final : public Kernel {
 public:
  explicit ResizeNearestGrad(KernelInit& init) : grid_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    // The gradients are the images here, and what they become has the size of the original.
    TFLEET_ASSIGN_OR_RETURN(ResizePlan plan, PlanResize(ctx, grid_));
    plan.height_scale = grid_.Scale(plan.out_height, plan.height);
    plan.width_scale = grid_.Scale(plan.out_width, plan.width);
    TFLEET_ASSIGN_OR_RETURN(
        Tensor out,
        Tensor::Zeros(kDTypeOf<T>, {plan.batch, plan.out_height, plan.out_width, plan.channels}));
    const std::vector<int64_t> columns =
        NearestPixels(grid_, plan.width, plan.width_scale, plan.out_width);
    const T* const from = ctx.input(0).values<T>().data();
    T* const to = out.mutable_values<T>().data();
    const int64_t channels = plan.channels;
    ParallelFor(ctx, plan.batch, plan.height * plan.in_row(), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        for (int64_t y = 0; y < plan.height; ++y) {
          const int64_t row = grid_.Nearest(y, plan.height_scale, plan.out_height);
          const T* in = from + (b * plan.height + y) * plan.in_row();
          T* const sums = to + (b * plan.out_height + row) * plan.out_row();
          for (const int64_t x : columns) {
            for (int64_t c = 0; c < channels; ++c) {
              sums[x * channels + c] = static_cast<T>(sums[x * channels + c] + *in++);
            }
          }
        }
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const ResizeGrid grid_;
};

}  // namespace

void RegisterResizeNearestKernels(KernelRegistry& r) {
  ForEachType(Reals(), [&](auto tag) {
    r.Add<ResizeNearest>("ResizeNearestNeighbor", kCpu,
                         {{"T", kDTypeOf<typename decltype(tag)::type>}});
  });
  AddForTypes<ResizeNearestGrad>(r, "ResizeNearestNeighborGrad", Reals());
}

}  // namespace tensorfleet::cpu
