// LRN, local response normalization across channels, and its gradient. Schemas and shape rules:
// runtime/ops/nn/normalization_ops.cc.
#include "runtime/kernels/cpu/array_loop.h"
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/scratch.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

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

  // Some pixels are worked on at once: what is stored is then not read again at once, and vectors
  // are full.
  static int64_t PixelsAtOnce(int64_t channels) {
    return std::max<int64_t>(1, kElementsAtOnce / channels);
  }
  // What so many pixels need to be worked on.
  int64_t ScratchElements(int64_t channels) const {
    return PixelsAtOnce(channels) * (PaddedRow(channels) + 2 * channels) + 2 * kLanes;
  }
  // These rows, zero. A padded row has its channel 0 at Radius(channels); what lies around the
  // channels stays zero. The others are one after another.
  struct Rows {
    float* padded;
    float* sums;
    float* values;
  };
  Rows MakeRows(float* scratch, int64_t channels) const {
    std::fill_n(scratch, ScratchElements(channels), 0.0f);
    float* const sums = scratch + PixelsAtOnce(channels) * PaddedRow(channels);
    return {scratch, sums, sums + PixelsAtOnce(channels) * channels + kLanes};
  }
  int64_t Radius(int64_t channels) const { return std::min(radius_, channels - 1); }
  // With room for the channels around the first and the last one, and for whole vectors.
  int64_t PaddedRow(int64_t channels) const { return channels + 2 * Radius(channels) + kLanes; }

  // The padded rows of `pixels` pixels <- map(i) for their elements.
  template <typename Map>
  void Pad(int64_t pixels, int64_t channels, const Map& map, const Rows& rows) const {
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      float* const to = rows.padded + pixel * PaddedRow(channels) + Radius(channels);
      const int64_t first = pixel * channels;
      TFLEET_VECTORIZE
      for (int64_t c = 0; c < channels; ++c) to[c] = map(first + c);
    }
  }
  // rows.sums <- the sums of the padded rows over the channels around each.
  void AddAround(const Rows& rows, int64_t pixels, int64_t channels) const {
    const int64_t taps = 2 * Radius(channels) + 1;
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      const float* const from = rows.padded + pixel * PaddedRow(channels);
      float* const to = rows.sums + pixel * channels;  // what is written beyond is the next one's
      for (int64_t c = 0; c < channels; c += kLanes) {
        Lanes sum = Lanes::Zero();
        for (int64_t i = 0; i < taps; ++i) sum += ConstLanes(from + c + i);
        Eigen::Map<Lanes>(to + c) = sum;
      }
    }
  }
  // rows.sums <- bias + alpha * the sum of the squares around each element.
  void Norms(const float* x, int64_t pixels, int64_t channels, const Rows& rows) const {
    Pad(
        pixels, channels, [x](int64_t i) { return x[i] * x[i]; }, rows);
    AddAround(rows, pixels, channels);
    ArrayMap<float> sums(rows.sums, pixels * channels);
    sums = sums * alpha_ + bias_;
  }
  // rows.values <- rows.sums to the power of -beta.
  void Powers(const Rows& rows, int64_t size) const {
    const ConstArrayMap<float> n(rows.sums, size);
    ArrayMap<float> to(rows.values, size);
    if (beta_ == 0.5f)
      to = n.rsqrt();
    else if (beta_ == 0.75f)
      to = (n.sqrt() * n.sqrt().sqrt()).inverse();
    else if (beta_ == 1)
      to = n.inverse();
    else
      to = (n.log() * -beta_).exp();
  }
  int64_t CostOfPixel(int64_t channels) const { return channels * (4 + Radius(channels) / 4); }

 private:
  static constexpr int64_t kLanes = 8, kElementsAtOnce = 1024;
  using Lanes = Eigen::Array<float, kLanes, 1>;
  using ConstLanes = Eigen::Map<const Lanes>;

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
      TFLEET_RETURN_IF_ERROR(ParallelForWithScratch<float>(
          ctx, image.num_elements() / channels, normalization_.CostOfPixel(channels),
          normalization_.ScratchElements(channels),
          [&](int64_t begin, int64_t end, float* scratch) {
            const Normalization::Rows rows = normalization_.MakeRows(scratch, channels);
            const int64_t at_once = Normalization::PixelsAtOnce(channels);
            for (int64_t pixel = begin; pixel < end; pixel += at_once) {
              const int64_t pixels = std::min(at_once, end - pixel), size = pixels * channels;
              const float* x = from + pixel * channels;
              normalization_.Norms(x, pixels, channels, rows);
              normalization_.Powers(rows, size);
              ArrayMap<float>(to + pixel * channels, size) =
                  ConstArrayMap<float>(x, size) * ConstArrayMap<float>(rows.values, size);
            }
          }));
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
          ctx, image.num_elements() / channels, 2 * normalization_.CostOfPixel(channels),
          normalization_.ScratchElements(channels),
          [&](int64_t begin, int64_t end, float* scratch) {
            const Normalization::Rows rows = normalization_.MakeRows(scratch, channels);
            const int64_t at_once = Normalization::PixelsAtOnce(channels);
            for (int64_t pixel = begin; pixel < end; pixel += at_once) {
              const int64_t at = pixel * channels;
              Pixels(gradient.data() + at, from.data() + at, normalized.data() + at,
                     std::min(at_once, end - pixel), channels, rows, to.data() + at);
            }
          }));
      to.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // y[j] = x[j] norm[j]^-beta, and norm[j] depends on every x[k] around j: so dx[k] has a part of
  // each dy[j] around k.
  void Pixels(const float* dy, const float* x, const float* y, int64_t pixels, int64_t channels,
              const Normalization::Rows& rows, float* dx) const {
    normalization_.Norms(x, pixels, channels, rows);
    const int64_t size = pixels * channels;
    normalization_.Powers(rows, size);
    const float* const norms = rows.sums;
    normalization_.Pad(
        pixels, channels, [=](int64_t i) { return y[i] / norms[i] * dy[i]; }, rows);
    normalization_.AddAround(rows, pixels, channels);
    const float factor = -2 * normalization_.alpha() * normalization_.beta();
    ArrayMap<float>(dx, size) =
        ConstArrayMap<float>(rows.values, size) * ConstArrayMap<float>(dy, size) +
        ConstArrayMap<float>(x, size) * ConstArrayMap<float>(rows.sums, size) * factor;
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
