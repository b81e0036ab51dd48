// ResizeBilinear and its gradient. Schemas: runtime/ops/image/resize_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/image/resize_input.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// A position between two pixels.
struct Between {
  int64_t lower = 0, upper = 0;
  float part = 0;  // of the way to the upper one
};

Between Find(const ResizeGrid& grid, int64_t i, float scale, int64_t limit) {
  const float at = grid.At(i, scale), floor = std::floor(at);
  // A float is not exact for every pixel of a large image.
  return {std::clamp<int64_t>(static_cast<int64_t>(floor), 0, limit - 1),
          std::clamp<int64_t>(static_cast<int64_t>(std::ceil(at)), 0, limit - 1), at - floor};
}

// The columns, as offsets of their first channels.
std::vector<Between> Columns(const ResizeGrid& grid, const ResizePlan& plan) {
  std::vector<Between> columns(plan.out_width);
  for (int64_t x = 0; x < plan.out_width; ++x) {
    columns[x] = Find(grid, x, plan.width_scale, plan.width);
    columns[x].lower *= plan.channels;
    columns[x].upper *= plan.channels;
  }
  return columns;
}

template <typename T>
class ResizeBilinear final : public Kernel {
 public:
  explicit ResizeBilinear(KernelInit& init) : grid_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResizePlan plan, PlanResize(ctx, grid_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, plan.Output(DType::kFloat));
    const T* const from = ctx.input(0).values<T>().data();
    float* const to = out.mutable_values<float>().data();
    if (plan.height == plan.out_height && plan.width == plan.out_width) {
      ParallelFor(ctx, out.num_elements(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(from[i]);
      });
    } else {
      const std::vector<Between> columns = Columns(grid_, plan);
      ForEachRow(ctx, plan.batch, plan.out_height, 2 * plan.out_row(), [&](int64_t b, int64_t y) {
        const Between rows = Find(grid_, y, plan.height_scale, plan.height);
        const T* const image = from + b * plan.height * plan.in_row();
        Row(image + rows.lower * plan.in_row(), image + rows.upper * plan.in_row(), rows.part,
            columns, plan.channels, to + (b * plan.out_height + y) * plan.out_row());
      });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static void Row(const T* upper_row, const T* lower_row, float down,
                  const std::vector<Between>& columns, int64_t channels, float* to) {
    if (channels == 3) return RowOf<3>(upper_row, lower_row, down, columns, 3, to);
    if (channels == 1) return RowOf<1>(upper_row, lower_row, down, columns, 1, to);
    RowOf<0>(upper_row, lower_row, down, columns, channels, to);
  }
  // kChannels of 0: as many as `channels` says.
  template <int kChannels>
  static void RowOf(const T* top, const T* bottom, float down, const std::vector<Between>& columns,
                    int64_t channels, float* to) {
    const int64_t n = kChannels > 0 ? kChannels : channels;
    for (const Between& column : columns) {
      for (int64_t c = 0; c < n; ++c) {
        const auto top_left = static_cast<float>(top[column.lower + c]);
        const auto top_right = static_cast<float>(top[column.upper + c]);
        const auto bottom_left = static_cast<float>(bottom[column.lower + c]);
        const auto bottom_right = static_cast<float>(bottom[column.upper + c]);
        const float above = top_left + (top_right - top_left) * column.part;
        const float below = bottom_left + (bottom_right - bottom_left) * column.part;
        *to++ = above + (below - above) * down;
      }
    }
  }

  const ResizeGrid grid_;
};

template <typename T>
class ResizeBilinearGrad final : public Kernel {
 public:
  explicit ResizeBilinearGrad(KernelInit& init) : grid_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResizePlan plan, PlanResizeGrad(ctx, grid_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, ctx.input(1).shape()));
    const std::vector<Between> columns = Columns(grid_, plan);
    const float* const from = ctx.input(0).values<float>().data();
    T* const to = out.mutable_values<T>().data();
    ParallelFor(ctx, plan.batch, 4 * plan.out_height * plan.out_row(),
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
  void AddRow(const ResizePlan& plan, const std::vector<Between>& columns, int64_t y,
              const float* grads, T* image) const {
    const Between rows = Find(grid_, y, plan.height_scale, plan.height);
    T* const top = image + rows.lower * plan.in_row();
    T* const bottom = image + rows.upper * plan.in_row();
    const float down = rows.part, up = 1.0f - rows.part;
    const auto add = [](T& sum, float value) { sum = static_cast<T>(sum + static_cast<T>(value)); };
    for (const Between& column : columns) {
      const float right = column.part, left = 1.0f - column.part;
      for (int64_t c = 0; c < plan.channels; ++c) {
        const float grad = *grads++;
        add(top[column.lower + c], grad * up * left);
        add(top[column.upper + c], grad * up * right);
        add(bottom[column.lower + c], grad * down * left);
        add(bottom[column.upper + c], grad * down * right);
      }
    }
  }

  const ResizeGrid grid_;
};

}  // namespace

void RegisterResizeBilinearKernels(KernelRegistry& r) {
  AddForTypes<ResizeBilinear>(r, "ResizeBilinear", Reals());
  AddForTypes<ResizeBilinearGrad>(r, "ResizeBilinearGrad", Floats());
}

}  // namespace tensorfleet::cpu
