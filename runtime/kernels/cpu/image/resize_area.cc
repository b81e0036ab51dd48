// ResizeArea: the mean of what a pixel covers. Schema: runtime/ops/image/resize_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/image/resize_input.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// Pixels [begin, end) and how much of each counts; those outside the image count as its edge.
struct Span {
  int64_t begin = 0;
  std::vector<float> weights;
};

Span Covered(int64_t i, float scale) {
  if (scale == 0) return {0, {1.0f}};  // one pixel, whose corners are aligned with many
  const float from = static_cast<float>(i) * scale, to = static_cast<float>(i + 1) * scale;
  Span span;
  span.begin = static_cast<int64_t>(std::floor(from));
  const auto end = static_cast<int64_t>(std::ceil(to));
  for (int64_t pixel = span.begin; pixel < end; ++pixel) {
    const auto low = static_cast<float>(pixel), high = static_cast<float>(pixel + 1);
    if (low < from) {
      span.weights.push_back(high > to ? scale : high - from);
    } else {
      span.weights.push_back(high > to ? to - low : 1.0f);
    }
  }
  return span;
}

template <typename T>
class ResizeArea final : public Kernel {
 public:
  explicit ResizeArea(KernelInit& init) : grid_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResizePlan plan, PlanResize(ctx, grid_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, plan.Output(DType::kFloat));
    std::vector<Span> columns(plan.out_width);
    for (int64_t x = 0; x < plan.out_width; ++x) columns[x] = Covered(x, plan.width_scale);
    const T* const from = ctx.input(0).values<T>().data();
    float* const to = out.mutable_values<float>().data();
    const float height = plan.height_scale > 0 ? plan.height_scale : 1.0f;
    const float width = plan.width_scale > 0 ? plan.width_scale : 1.0f;
    const auto scale = static_cast<float>(1.0 / (height * width));
    const auto covered = static_cast<int64_t>(plan.height_scale) + 2;
    ForEachRow(ctx, plan.batch, plan.out_height, covered * plan.in_row() + plan.out_row(),
               [&](int64_t b, int64_t y) {
                 const Span rows = Covered(y, plan.height_scale);
                 float* pixel = to + (b * plan.out_height + y) * plan.out_row();
                 for (const Span& span : columns) {
                   Sum(from + b * plan.height * plan.in_row(), plan, rows, span, pixel);
                   for (int64_t c = 0; c < plan.channels; ++c) *pixel++ *= scale;
                 }
               });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static void Sum(const T* image, const ResizePlan& plan, const Span& rows, const Span& columns,
                  float* sums) {
    std::fill(sums, sums + plan.channels, 0.0f);
    for (size_t r = 0; r < rows.weights.size(); ++r) {
      const int64_t y = std::min<int64_t>(rows.begin + static_cast<int64_t>(r), plan.height - 1);
      const T* const row = image + y * plan.in_row();
      for (int64_t c = 0; c < plan.channels; ++c) {
        float sum = 0;
        for (size_t k = 0; k < columns.weights.size(); ++k) {
          const int64_t x =
              std::min<int64_t>(columns.begin + static_cast<int64_t>(k), plan.width - 1);
          sum += static_cast<float>(row[x * plan.channels + c]) * columns.weights[k];
        }
        sums[c] += sum * rows.weights[r];
      }
    }
  }

  const ResizeGrid grid_;
};

}  // namespace

void RegisterResizeAreaKernels(KernelRegistry& r) {
  AddForTypes<ResizeArea>(r, "ResizeArea", Reals());
}

}  // namespace tensorfleet::cpu
