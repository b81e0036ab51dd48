// ResizeBicubic and its gradient: TensorFlow's weights, which come from a table. Schemas:
// runtime/ops/image/resize_ops.cc.
#include <array>
#include <vector>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/image/resize_input.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kSteps = 1024;

// For each step of the way from one pixel to the next: the weight of a pixel so far away, and of
// one that is a pixel farther.
class Weights {
 public:
  explicit Weights(double a) {
    for (int64_t i = 0; i <= kSteps; ++i) {
      const float near = static_cast<float>(i) / kSteps, far = near + 1.0f;
      near_[i] = static_cast<float>(((a + 2) * near - (a + 3)) * near * near + 1);
      far_[i] = static_cast<float>(((a * far - 5 * a) * far + 8 * a) * far - 4 * a);
    }
  }
  float near(int64_t step) const { return near_[step]; }
  float far(int64_t step) const { return far_[step]; }

 private:
  std::array<float, kSteps + 1> near_, far_;
};

const Weights& WeightsFor(bool half_pixels) {
  static const Weights* const old = new Weights(-0.75);
  static const Weights* const keys = new Weights(-0.5);
  return half_pixels ? *keys : *old;
}

// The four pixels around a position.
struct Four {
  std::array<int64_t, 4> pixels;
  std::array<float, 4> weights;
};

Four Around(const ResizeGrid& grid, int64_t i, float scale, int64_t limit) {
  const Weights& table = WeightsFor(grid.half_pixels);
  const float at = grid.At(i, scale);
  const auto pixel = static_cast<int64_t>(std::floor(at));
  const int64_t step = std::lrintf((at - static_cast<float>(pixel)) * kSteps);
  Four four;
  four.weights = {table.far(step), table.near(step), table.near(kSteps - step),
                  table.far(kSteps - step)};
  float sum = 0;
  for (int64_t k = 0; k < 4; ++k) {
    const int64_t wanted = pixel - 1 + k;
    four.pixels[k] = std::clamp<int64_t>(wanted, 0, limit - 1);
    // With half pixels nothing outside counts; else the pixels of the edge count again.
    if (grid.half_pixels && four.pixels[k] != wanted) four.weights[k] = 0;
    sum += four.weights[k];
  }
  if (grid.half_pixels && std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min()) {
    for (float& weight : four.weights) weight *= 1.0f / sum;
  }
  return four;
}

std::vector<Four> Columns(const ResizeGrid& grid, const ResizePlan& plan) {
  std::vector<Four> columns(plan.out_width);
  for (int64_t x = 0; x < plan.out_width; ++x) {
    columns[x] = Around(grid, x, plan.width_scale, plan.width);
    for (int64_t& pixel : columns[x].pixels) pixel *= plan.channels;
  }
  return columns;
}

template <typename T>
class ResizeBicubic final : public Kernel {
 public:
  explicit ResizeBicubic(KernelInit& init) : grid_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResizePlan plan, PlanResize(ctx, grid_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, plan.Output(DType::kFloat));
    const std::vector<Four> columns = Columns(grid_, plan);
    const T* const from = ctx.input(0).values<T>().data();
    float* const to = out.mutable_values<float>().data();
    const int64_t cost = 4 * (plan.out_row() + plan.in_row());
    ParallelFor(ctx, plan.batch * plan.out_height, cost, [&](int64_t begin, int64_t end) {
      // A row of the input's width between the four rows.
      std::vector<float> between(plan.in_row());
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / plan.out_height, y = i % plan.out_height;
        const Four rows = Around(grid_, y, plan.height_scale, plan.height);
        const T* const image = from + b * plan.height * plan.in_row();
        Blend(image, rows, plan.in_row(), between.data());
        float* pixel = to + i * plan.out_row();
        for (const Four& column : columns) {
          for (int64_t c = 0; c < plan.channels; ++c) {
            float sum = 0;
            for (int k = 0; k < 4; ++k) {
              sum += between[column.pixels[k] + c] * column.weights[k];
            }
            *pixel++ = sum;
          }
        }
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static void Blend(const T* image, const Four& rows, int64_t length, float* to) {
    const T* const r0 = image + rows.pixels[0] * length;
    const T* const r1 = image + rows.pixels[1] * length;
    const T* const r2 = image + rows.pixels[2] * length;
    const T* const r3 = image + rows.pixels[3] * length;
    const std::array<float, 4> w = rows.weights;
    for (int64_t i = 0; i < length; ++i) {
      to[i] = static_cast<float>(r0[i]) * w[0] + static_cast<float>(r1[i]) * w[1] +
              static_cast<float>(r2[i]) * w[2] + static_cast<float>(r3[i]) * w[3];
    }
  }

  const ResizeGrid grid_;
};

template <typename T>
class ResizeBicubicGrad final : public Kernel {
 public:
  explicit ResizeBicubicGrad(KernelInit& init) : grid_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResizePlan plan, PlanResizeGrad(ctx, grid_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, ctx.input(1).shape()));
    const std::vector<Four> columns = Columns(grid_, plan);
    const float* const from = ctx.input(0).values<float>().data();
    T* const to = out.mutable_values<T>().data();
    ParallelFor(ctx, plan.batch, 16 * plan.out_height * plan.out_row(),
                [&](int64_t begin, int64_t end) {
                  for (int64_t b = begin; b < end; ++b) {
                    for (int64_t y = 0; y < plan.out_height; ++y) {
                      AddRow(plan, columns, y, from + (b * plan.out_height + y) * plan.out_row(),
                             to + b * plan.height * plan.in_row());
                    }
                  }
                });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  void AddRow(const ResizePlan& plan, const std::vector<Four>& columns, int64_t y,
              const float* grads, T* image) const {
    const Four rows = Around(grid_, y, plan.height_scale, plan.height);
    for (const Four& column : columns) {
      for (int64_t c = 0; c < plan.channels; ++c) {
        const float grad = *grads++;
        for (int r = 0; r < 4; ++r) {
          T* const row = image + rows.pixels[r] * plan.in_row();
          for (int k = 0; k < 4; ++k) {
            row[column.pixels[k] + c] += static_cast<T>(grad * rows.weights[r] * column.weights[k]);
          }
        }
      }
    }
  }

  const ResizeGrid grid_;
};

}  // namespace

void RegisterResizeBicubicKernels(KernelRegistry& r) {
  AddForTypes<ResizeBicubic>(r, "ResizeBicubic", Reals());
  AddForTypes<ResizeBicubicGrad>(r, "ResizeBicubicGrad", FullFloats());
}

}  // namespace tensorfleet::cpu
