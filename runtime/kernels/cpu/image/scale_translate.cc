// ScaleAndTranslate and its gradient: a kernel weighs the pixels around each position, first over
// rows, then over columns. Schemas: runtime/ops/image/resize_ops.cc.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/image/resize_input.h"
#include "runtime/kernels/types.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::cpu {
namespace {

struct WeightKernel {
  float radius = 0;
  float (*weight)(float distance, float radius) = nullptr;
};

float Lanczos(float x, float radius) {
  constexpr float kPi = 3.14159265359f;
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}
float Gaussian(float x, float radius) {
  if (x >= radius) return 0;
  const float sigma = radius / 3.0f;
  return std::exp(-x * x / (2 * sigma * sigma));
}
float Box(float x, float) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }
float Triangle(float x, float) { return x < 1 ? 1 - x : 0; }
float KeysCubic(float x, float) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
  return ((1.5f * x - 2.5f) * x) * x + 1.0f;
}
float MitchellCubic(float x, float) {
  if (x >= 2) return 0;
  if (x >= 1) return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
  return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

StatusOr<WeightKernel> KernelNamed(const std::string& name) {
  if (name == "lanczos1") return WeightKernel{1, Lanczos};
  if (name == "lanczos3") return WeightKernel{3, Lanczos};
  if (name == "lanczos5") return WeightKernel{5, Lanczos};
  if (name == "gaussian") return WeightKernel{1.5f, Gaussian};
  if (name == "box") return WeightKernel{1, Box};
  if (name == "triangle") return WeightKernel{1, Triangle};
  if (name == "keyscubic") return WeightKernel{2, KeysCubic};
  if (name == "mitchellcubic") return WeightKernel{2, MitchellCubic};
  return InvalidArgument("Unrecognized kernel type: ", name,
                         "; there are lanczos1, lanczos3, lanczos5, gaussian, box, triangle, "
                         "keyscubic and mitchellcubic");
}

// The pixels that each position takes, and their weights.
struct Spans {
  int64_t size = 0;             // room for each
  std::vector<int64_t> starts;  // of each
  std::vector<float> weights;   // `size` of each, zero where there are fewer
};

StatusOr<Spans> SpansOf(const WeightKernel& kernel, int64_t out_size, int64_t in_size, float scale,
                        float translation, bool antialias) {
  const float inverse = static_cast<float>(1.0 / scale);
  const float shift = -inverse * translation;
  // What makes an image smaller must look at more pixels.
  const float stretch = antialias ? std::max(inverse, 1.0f) : 1.0f;
  const float reach = kernel.radius * stretch;
  if (!std::isfinite(inverse) || !std::isfinite(shift)) {
    return InvalidArgument("a scale of ", scale, " and a translation of ", translation,
                           " are too extreme");
  }
  Spans spans;
  spans.size = reach < static_cast<float>(in_size)
                   ? std::min<int64_t>(2 * static_cast<int64_t>(std::ceil(reach)) + 1, in_size)
                   : in_size;
  TFLEET_RETURN_IF_ERROR(
      CheckWorkSpace(out_size, static_cast<int64_t>(sizeof(float)) * spans.size));
  spans.starts.assign(out_size, 0);
  spans.weights.assign(out_size * spans.size, 0.0f);
  const auto last = static_cast<float>(in_size - 1);
  for (int64_t i = 0; i < out_size; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * inverse + shift;
    if (!(at >= 0 && at <= static_cast<float>(in_size))) continue;  // outside: nothing
    const auto begin = static_cast<int64_t>(std::clamp(std::ceil(at - reach - 0.5f), 0.0f, last));
    const auto end =
        static_cast<int64_t>(std::clamp(std::floor(at + reach - 0.5f), 0.0f, last)) + 1;
    float* const weights = spans.weights.data() + i * spans.size;
    const int64_t count = std::min(end - begin, spans.size);
    float sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      const float distance = static_cast<float>(begin + k) + 0.5f - at;
      weights[k] = kernel.weight(std::abs(distance * (1.0f / stretch)), kernel.radius);
      sum += weights[k];
    }
    if (std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min()) {
      const float factor = 1.0f / sum;
      for (int64_t k = 0; k < count; ++k) weights[k] *= factor;
    } else {
      std::fill(weights, weights + count, 0.0f);
    }
    spans.starts[i] = std::min(begin, in_size - spans.size);
    // A span that begins too late for its room lies at the end of it.
    std::rotate(weights, weights + spans.size - (begin - spans.starts[i]), weights + spans.size);
  }
  return spans;
}

// The kernel, and scale and translation in two inputs.
class Motion {
 public:
  explicit Motion(KernelInit& init) {
    std::string name;
    init.Get("kernel_type", &name);
    init.Get("antialias", &antialias_);
    const StatusOr<WeightKernel> kernel = KernelNamed(name);
    init.Fail(kernel.status());
    if (kernel.ok()) kernel_ = *kernel;
  }

  // `*rows` and `*columns` take from images of height x width.
  Status Plan(const KernelContext& ctx, int64_t height, int64_t width, int64_t out_height,
              int64_t out_width, Spans* rows, Spans* columns) const {
    const Tensor &scale = ctx.input(2), &translation = ctx.input(3);
    for (const Tensor* pair : {&scale, &translation}) {
      if (pair->rank() != 1 || pair->dim(0) != 2) {
        return InvalidArgument("scale and translation must have two elements, not the shape ",
                               pair->shape().ToString());
      }
    }
    const auto scales = scale.values<float>(), moves = translation.values<float>();
    if (!(scales[0] > 0 && scales[1] > 0)) {
      return InvalidArgument("Scale must be greater than zero.");
    }
    TFLEET_ASSIGN_OR_RETURN(*rows,
                            SpansOf(kernel_, out_height, height, scales[0], moves[0], antialias_));
    TFLEET_ASSIGN_OR_RETURN(*columns,
                            SpansOf(kernel_, out_width, width, scales[1], moves[1], antialias_));
    return OkStatus();
  }

 private:
  WeightKernel kernel_;
  bool antialias_ = true;
};

template <typename T>
class ScaleAndTranslate final : public Kernel {
 public:
  explicit ScaleAndTranslate(KernelInit& init) : motion_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResizePlan plan, PlanResize(ctx, ResizeGrid()));
    Spans rows, columns;
    TFLEET_RETURN_IF_ERROR(motion_.Plan(ctx, plan.height, plan.width, plan.out_height,
                                        plan.out_width, &rows, &columns));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, plan.Output(DType::kFloat));
    const T* const from = ctx.input(0).values<T>().data();
    float* const to = out.mutable_values<float>().data();
    const int64_t cost = rows.size * plan.in_row() + columns.size * plan.out_row();
    ParallelFor(ctx, plan.batch * plan.out_height, cost, [&](int64_t begin, int64_t end) {
      std::vector<float> between(plan.in_row());
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / plan.out_height, y = i % plan.out_height;
        std::fill(between.begin(), between.end(), 0.0f);
        for (int64_t k = 0; k < rows.size; ++k) {
          const float weight = rows.weights[y * rows.size + k];
          if (weight == 0) continue;
          const T* const row = from + (b * plan.height + rows.starts[y] + k) * plan.in_row();
          for (int64_t x = 0; x < plan.in_row(); ++x) {
            between[x] += static_cast<float>(row[x]) * weight;
          }
        }
        Across(between, plan, columns, to + i * plan.out_row());
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static void Across(const std::vector<float>& from, const ResizePlan& plan, const Spans& columns,
                     float* to) {
    const int64_t channels = plan.channels;
    for (int64_t x = 0; x < plan.out_width; ++x, to += channels) {
      std::fill(to, to + channels, 0.0f);
      const float* pixel = from.data() + columns.starts[x] * channels;
      for (int64_t k = 0; k < columns.size; ++k, pixel += channels) {
        const float weight = columns.weights[x * columns.size + k];
        for (int64_t c = 0; c < channels; ++c) to[c] += pixel[c] * weight;
      }
    }
  }

  const Motion motion_;
};

// Each gradient goes where its position took from.
class ScaleAndTranslateGrad final : public Kernel {
 public:
  explicit ScaleAndTranslateGrad(KernelInit& init) : motion_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResizePlan plan, PlanResizeGrad(ctx, ResizeGrid()));
    Spans rows, columns;
    TFLEET_RETURN_IF_ERROR(motion_.Plan(ctx, plan.height, plan.width, plan.out_height,
                                        plan.out_width, &rows, &columns));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(DType::kFloat, ctx.input(1).shape()));
    const float* const from = ctx.input(0).values<float>().data();
    float* const to = out.mutable_values<float>().data();
    const int64_t cost =
        plan.out_height * (rows.size * plan.in_row() + columns.size * plan.out_row());
    ParallelFor(ctx, plan.batch, cost, [&](int64_t begin, int64_t end) {
      std::vector<float> between(plan.in_row());
      for (int64_t b = begin; b < end; ++b) {
        for (int64_t y = 0; y < plan.out_height; ++y) {
          Spread(from + (b * plan.out_height + y) * plan.out_row(), plan, columns, between);
          for (int64_t k = 0; k < rows.size; ++k) {
            const float weight = rows.weights[y * rows.size + k];
            if (weight == 0) continue;
            float* const row = to + (b * plan.height + rows.starts[y] + k) * plan.in_row();
            for (int64_t x = 0; x < plan.in_row(); ++x) row[x] += between[x] * weight;
          }
        }
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static void Spread(const float* grads, const ResizePlan& plan, const Spans& columns,
                     std::vector<float>& to) {
    const int64_t channels = plan.channels;
    std::fill(to.begin(), to.end(), 0.0f);
    for (int64_t x = 0; x < plan.out_width; ++x, grads += channels) {
      float* pixel = to.data() + columns.starts[x] * channels;
      for (int64_t k = 0; k < columns.size; ++k, pixel += channels) {
        const float weight = columns.weights[x * columns.size + k];
        for (int64_t c = 0; c < channels; ++c) pixel[c] += grads[c] * weight;
      }
    }
  }

  const Motion motion_;
};

}  // namespace

void RegisterScaleTranslateKernels(KernelRegistry& r) {
  AddForTypes<ScaleAndTranslate>(r, "ScaleAndTranslate", Reals());
  r.Add<ScaleAndTranslateGrad>("ScaleAndTranslateGrad", kCpu, {{"T", DType::kFloat}});
}

}  // namespace tensorfleet::cpu
