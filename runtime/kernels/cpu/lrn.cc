// LRN, local response normalization across channels, and its gradient. Schemas and shape rules:
// runtime/ops/normalization_ops.cc.
#include <cmath>

#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/scratch.h"
#include "runtime/kernels/cpu/types.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet::cpu {
namespace {

class Normalization {
 public:
  explicit Normalization(KernelInit& init) {
    init.Get("depth_radius", &radius_);
    init.Get("bias", &bias_);
    init.Get("alpha", &alpha_);
    init.Get("beta", &beta_);
    if (radius_ < 0) init.Fail(InvalidArgument("depth_radius must be >= 0, not ", radius_));
  }
  float alpha() const { return alpha_; }
  float beta() const { return beta_; }

  // The channels [first, last) that channel `c` is normalized over.
  int64_t First(int64_t c) const { return std::max<int64_t>(0, c - radius_); }
  int64_t Last(int64_t c, int64_t channels) const {
    return radius_ >= channels ? channels : std::min(channels, c + radius_ + 1);
  }
  // norm[c] <- bias + alpha * the sum of squares around c.
  void Norms(const float* x, int64_t channels, float* norm) const {
    for (int64_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (int64_t i = First(c); i < Last(c, channels); ++i) sum += x[i] * x[i];
      norm[c] = bias_ + alpha_ * sum;
    }
  }
  int64_t CostOfPixel(int64_t channels) const {
    return channels * (20 + std::min(2 * radius_, channels));
  }

 private:
  int64_t radius_ = 5;
  float bias_ = 1, alpha_ = 1, beta_ = 0.5;
};

Status CheckImage(const Tensor& image) {
  if (image.rank() == 4) return OkStatus();
  return InvalidArgument("in must be 4-dimensional, but has shape ", image.shape().ToString());
}

template <typename T>
class Lrn final : public Kernel {
 public:
  explicit Lrn(KernelInit& init) : normalization_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& image = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckImage(image));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, image.shape()));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_image, WideInput<T>::Of(image));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      const int64_t channels = image.dim(3);
      const float* from = wide_image.data();
      float* to = wide_out.data();
      ParallelFor(ctx, image.num_elements() / channels, normalization_.CostOfPixel(channels),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t at = begin * channels; at < end * channels; at += channels) {
                      normalization_.Norms(from + at, channels, to + at);
                      for (int64_t c = at; c < at + channels; ++c) {
                        to[c] = from[c] * std::pow(to[c], -normalization_.beta());
                      }
                    }
                  });
      wide_out.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Normalization normalization_;
};

template <typename T>
class LrnGrad final : public Kernel {
 public:
  explicit LrnGrad(KernelInit& init) : normalization_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& image = ctx.input(1);
    TFLEET_RETURN_IF_ERROR(CheckImage(image));
    for (const int i : {0, 2}) {
      if (ctx.input(i).shape() != image.shape()) {
        return InvalidArgument(
            "input_grads, input_image, and out_image should have the same "
            "shape, but input ",
            i, " is ", ctx.input(i).shape().ToString(), " and input_image ",
            image.shape().ToString());
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, image.shape()));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto gradient, WideInput<T>::Of(ctx.input(0)));
      TFLEET_ASSIGN_OR_RETURN(const auto from, WideInput<T>::Of(image));
      TFLEET_ASSIGN_OR_RETURN(const auto normalized, WideInput<T>::Of(ctx.input(2)));
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
      const int64_t channels = image.dim(3);
      TFLEET_RETURN_IF_ERROR(ParallelForWithScratch<float>(
          ctx, image.num_elements() / channels, 2 * normalization_.CostOfPixel(channels), channels,
          [&](int64_t begin, int64_t end, float* norms) {
            for (int64_t at = begin * channels; at < end * channels; at += channels) {
              Pixel(gradient.data() + at, from.data() + at, normalized.data() + at, channels, norms,
                    to.data() + at);
            }
          }));
      to.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // y[j] = x[j] norm[j]^-beta, and norm[j] depends on every x[k] around j.
  void Pixel(const float* dy, const float* x, const float* y, int64_t channels, float* norm,
             float* dx) const {
    normalization_.Norms(x, channels, norm);
    const float factor = -2 * normalization_.alpha() * normalization_.beta();
    std::fill_n(dx, channels, 0.0f);
    for (int64_t j = 0; j < channels; ++j) {
      const float common = factor * y[j] / norm[j] * dy[j];
      for (int64_t k = normalization_.First(j); k < normalization_.Last(j, channels); ++k) {
        dx[k] += common * x[k];
      }
      dx[j] += std::pow(norm[j], -normalization_.beta()) * dy[j];
    }
  }

  const Normalization normalization_;
};

}  // namespace

void RegisterLrnKernels(KernelRegistry& r) {
  using LrnTypes = Concat<SmallFloats, Types<float>>;
  AddForTypes<Lrn>(r, "LRN", LrnTypes());
  AddForTypes<LrnGrad>(r, "LRNGrad", LrnTypes());
}

}  // namespace tensorfleet::cpu
