// RGBToHSV, HSVToRGB, AdjustHue, AdjustSaturation, AdjustContrastv2. Schemas:
// runtime/ops/image/image_ops.cc.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// Colours are the last dimension. Runs body(from, to) for each.
template <typename T, typename Body>
Status ForEachColor(KernelContext& ctx, int least_rank, int64_t cost, const Body& body) {
  const Tensor& images = ctx.input(0);
  const int rank = images.rank();
  if (rank < least_rank) {
    return InvalidArgument("input must be at least ", least_rank, "-D, got shape ",
                           images.shape().ToString());
  }
  if (images.dim(rank - 1) != 3) {
    return InvalidArgument("input must have 3 channels but instead has ", images.dim(rank - 1),
                           " channels.");
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, kDTypeOf<T>, images.shape()));
  const T* const from = ctx.input(0).values<T>().data();
  T* const to = out.mutable_values<T>().data();
  ParallelFor(ctx, out.num_elements() / 3, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(from + 3 * i, to + 3 * i);
  });
  ctx.SetOutput(0, std::move(out));
  return OkStatus();
}

template <typename T>
class RgbToHsv final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    return ForEachColor<T>(ctx, 1, 10, [](const T* from, T* to) {
      const T r = from[0], g = from[1], b = from[2], zero(0);
      const T value = std::max(std::max(r, g), b);
      const T range = value - std::min(std::min(r, g), b);
      const T norm = (T(1) / range) * (T(1) / T(6));
      T hue = r == value   ? norm * (g - b)
              : g == value ? norm * (b - r) + T(2) / T(6)
                           : norm * (r - g) + T(4) / T(6);
      if (!(range > zero)) hue = zero;
      if (hue < zero) hue = hue + T(1);
      to[1] = value > zero ? range / value : zero;
      to[0] = hue;
      to[2] = value;
    });
  }
};

template <typename T>
class HsvToRgb final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    return ForEachColor<T>(ctx, 1, 10, [](const T* from, T* to) {
      const auto unit = [](T x) { return std::min(std::max(x, T(0)), T(1)); };
      const auto size = [](T x) { return x < T(0) ? -x : x; };
      const T hue = from[0] * T(6), saturation = from[1], value = from[2];
      const T grey = T(1) - saturation;
      const T r = unit(size(hue - T(3)) - T(1)), g = unit(T(2) - size(hue - T(2)));
      const T b = unit(T(2) - size(hue - T(4)));
      to[0] = (grey + saturation * r) * value;
      to[1] = (grey + saturation * g) * value;
      to[2] = (grey + saturation * b) * value;
    });
  }
};

StatusOr<float> ScalarFloat(const KernelContext& ctx, absl::string_view name) {
  if (!ctx.input(1).shape().is_scalar()) {
    return InvalidArgument(name, " must be scalar: ", ctx.input(1).shape().ToString());
  }
  return ctx.input(1).scalar<float>();
}

// A hue on the circle of six colours, by its sector and the middle one of the three channels.
class Hue {
 public:
  // Which of the channels is largest, which smallest, for each sector.
  static constexpr int kLargest[] = {0, 1, 1, 2, 2, 0}, kMiddle[] = {1, 0, 2, 1, 0, 2},
                       kSmallest[] = {2, 2, 0, 0, 1, 1};
  explicit Hue(const float* rgb) {
    const float r = rgb[0], g = rgb[1], b = rgb[2];
    const int sector = r < g ? (b < r ? 1 : b > g ? 3 : 2) : (b < g ? 0 : b > r ? 4 : 5);
    most_ = rgb[kLargest[sector]];
    least_ = rgb[kSmallest[sector]];
    if (most_ == least_) return;
    const float ratio = (rgb[kMiddle[sector]] - least_) / (most_ - least_);
    hue_ = static_cast<float>(sector) + (sector % 2 == 0 ? ratio : 1 - ratio);
  }
  void Turn(float by) {
    hue_ += by;
    // Within one turn whatever was added; NaN and infinity have no hue.
    if (!std::isfinite(hue_)) hue_ = 0;
    if (hue_ < -6 || hue_ >= 12) hue_ = std::fmod(hue_, 6.0f);
    while (hue_ < 0) hue_ += 6;
    while (hue_ >= 6) hue_ -= 6;
  }
  void ToRgb(float* rgb) const {
    const int sector = std::min(static_cast<int>(hue_), 5);
    const float part = hue_ - static_cast<float>(sector);
    rgb[kLargest[sector]] = most_;
    rgb[kSmallest[sector]] = least_;
    rgb[kMiddle[sector]] = least_ + (sector % 2 == 0 ? part : 1 - part) * (most_ - least_);
  }

 private:
  float hue_ = 0, most_ = 0, least_ = 0;
};

class AdjustHue final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const float delta, ScalarFloat(ctx, "delta"));
    return ForEachColor<float>(ctx, 3, 20, [delta](const float* from, float* to) {
      Hue hue(from);
      hue.Turn(delta * 6);
      hue.ToRgb(to);
    });
  }
};

class AdjustSaturation final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const float scale, ScalarFloat(ctx, "scale"));
    return ForEachColor<float>(ctx, 3, 20, [scale](const float* from, float* to) {
      const float r = from[0], g = from[1], b = from[2];
      const float value = std::max(r, std::max(g, b));
      const float range = value - std::min(r, std::min(g, b));
      float saturation = value > 0 ? range / value : 0.0f;
      const float norm = 1.0f / (6.0f * range);
      float hue = r == value   ? norm * (g - b)
                  : g == value ? norm * (b - r) + 2.0f / 6.0f
                               : norm * (r - g) + 4.0f / 6.0f;
      if (range <= 0) hue = 0;
      if (hue < 0) hue += 1;
      saturation = std::min(1.0f, std::max(0.0f, saturation * scale));
      ToRgb(hue, saturation, value, to);
    });
  }

 private:
  static void ToRgb(float hue, float saturation, float value, float* to) {
    const float color = saturation * value, base = value - color, turn = hue * 6;
    // NaN, too, has to be one of the sectors.
    const int sector = turn >= 0 && turn < 6 ? static_cast<int>(turn) : 6;
    float position = std::fmod(turn, 2.0f);
    if (position <= 0) position += 2;
    const float middle = color * (1 - std::abs(position - 1));
    float rgb[3] = {0, 0, 0};
    if (sector < 6) {
      rgb[Hue::kLargest[sector]] = color;
      rgb[Hue::kMiddle[sector]] = middle;
    }
    for (int i = 0; i < 3; ++i) to[i] = rgb[i] + base;
  }
};

// Images [..., height, width, channels]: (x - mean) * factor + mean, with the mean of each channel.
class AdjustContrast final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& images = ctx.input(0);
    const int rank = images.rank();
    if (rank < 3) {
      return InvalidArgument("input must be at least 3-D, got shape", images.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const float factor, ScalarFloat(ctx, "contrast_factor"));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, DType::kFloat, images.shape()));
    const int64_t channels = out.dim(rank - 1);
    const int64_t pixels = out.dim(rank - 3) * out.dim(rank - 2);
    if (out.num_elements() > 0) {
      const float* const from = ctx.input(0).values<float>().data();
      float* const to = out.mutable_values<float>().data();
      const int64_t size = pixels * channels;
      ParallelFor(ctx, out.num_elements() / size, 3 * size, [&](int64_t begin, int64_t end) {
        std::vector<double> means(channels);
        for (int64_t i = begin; i < end; ++i) {
          OneImage(from + i * size, to + i * size, pixels, channels, factor, means.data());
        }
      });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static void OneImage(const float* from, float* to, int64_t pixels, int64_t channels, float factor,
                       double* means) {
    std::fill(means, means + channels, 0.0);
    for (int64_t i = 0; i < pixels; ++i) {
      for (int64_t c = 0; c < channels; ++c) means[c] += from[i * channels + c];
    }
    for (int64_t c = 0; c < channels; ++c) means[c] /= static_cast<double>(pixels);
    for (int64_t i = 0; i < pixels; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        const auto mean = static_cast<float>(means[c]);
        to[i * channels + c] = (from[i * channels + c] - mean) * factor + mean;
      }
    }
  }
};

}  // namespace

void RegisterColorKernels(KernelRegistry& r) {
  AddForTypes<RgbToHsv>(r, "RGBToHSV", Floats());
  AddForTypes<HsvToRgb>(r, "HSVToRGB", Floats());
  r.Add<AdjustHue>("AdjustHue", kCpu, {{"T", DType::kFloat}});
  r.Add<AdjustSaturation>("AdjustSaturation", kCpu, {{"T", DType::kFloat}});
  r.Add<AdjustContrast>("AdjustContrastv2", kCpu, {{"T", DType::kFloat}});
}

}  // namespace tensorfleet::cpu
