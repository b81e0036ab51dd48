// Rounding as if numbers had been quantized: FakeQuantWithMinMax* and their gradients. Schemas:
// runtime/ops/nn/quantize_ops.cc.
#include <cmath>
#include <vector>

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// A range moved a little, so that zero is one of the numbers that it is divided into.
struct NudgedRange {
  NudgedRange(float min, float max, int levels_from, int levels_to) {
    // Nothing is in an empty range: all becomes zero, and gradients pass.
    is_empty = min == 0 && max == 0;
    const float from = static_cast<float>(levels_from), to = static_cast<float>(levels_to);
    scale = (max - min) / (to - from);
    const float zero = from - min / scale;
    const float nudged = zero < from ? from : zero > to ? to : std::round(zero);
    low = (from - nudged) * scale;
    high = (to - nudged) * scale;
    inverse = 1.0f / scale;
    zero_level = std::floor(-low * inverse + 0.5f);
  }
  float Quantize(float x) const {
    if (is_empty) return 0;
    const float below = x < high ? x : high;
    const float clamped = below > low ? below : low;
    return std::floor((clamped - low) * inverse - zero_level + 0.5f) * scale;
  }
  bool Holds(float x) const { return is_empty || (x >= low && x <= high); }
  bool IsBelow(float x) const { return !is_empty && x < low; }
  bool IsAbove(float x) const { return !is_empty && x > high; }

  bool is_empty;
  float scale, inverse, low, high, zero_level;
};

// Attributes num_bits and narrow_range.
class Levels {
 public:
  explicit Levels(KernelInit& init) {
    int64_t bits = 0;
    bool is_narrow = false;
    init.Get("num_bits", &bits);
    init.Get("narrow_range", &is_narrow);
    if (bits < 2 || bits > 16) {
      init.Fail(InvalidArgument("num_bits must be between 2 and 16, inclusive; got ", bits));
      return;
    }
    from_ = is_narrow ? 1 : 0;
    to_ = (1 << bits) - 1;
  }
  NudgedRange Range(float min, float max) const { return NudgedRange(min, max, from_, to_); }

 private:
  int from_ = 0, to_ = 1;
};

// The ranges of one node: by attributes, by scalars, or one for each channel.
class Ranges {
 public:
  explicit Ranges(KernelInit& init, int first_input, bool is_per_channel)
      : levels_(init), first_input_(first_input), is_per_channel_(is_per_channel) {
    if (first_input >= 0) return;
    init.Get("min", &min_);
    init.Get("max", &max_);
    if (!(min_ < max_)) {
      init.Fail(InvalidArgument("min has to be smaller than max, was: ", min_, " >= ", max_));
    }
  }
  StatusOr<std::vector<NudgedRange>> Read(const KernelContext& ctx, const Tensor& in) const {
    if (first_input_ < 0) return std::vector<NudgedRange>{levels_.Range(min_, max_)};
    int64_t count = 1;
    for (int i = 0; i < 2; ++i) {
      const Tensor& bound = ctx.input(first_input_ + i);
      const char* const name = i == 0 ? "min" : "max";
      const int rank = is_per_channel_ ? 1 : 0;
      if (bound.rank() != rank) {
        return InvalidArgument("`", name, "` must be rank ", rank, " but is rank ", bound.rank());
      }
      if (!is_per_channel_) continue;
      if (in.rank() < 1) return InvalidArgument("inputs must have at least one dimension");
      count = in.dim(-1);
      if (bound.dim(0) != count) {
        return InvalidArgument(name, " has incorrect size, expected ", count, " was ",
                               bound.dim(0));
      }
    }
    std::vector<NudgedRange> ranges;
    for (int64_t i = 0; i < count; ++i) {
      ranges.push_back(levels_.Range(ctx.input(first_input_).values<float>()[i],
                                     ctx.input(first_input_ + 1).values<float>()[i]));
    }
    return ranges;
  }

 private:
  const Levels levels_;
  const int first_input_;
  const bool is_per_channel_;
  float min_ = 0, max_ = 0;
};

enum class Given { kAttrs, kScalars, kChannels };

template <Given kGiven>
class FakeQuant final : public Kernel {
 public:
  explicit FakeQuant(KernelInit& init)
      : ranges_(init, kGiven == Given::kAttrs ? -1 : 1, kGiven == Given::kChannels) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const std::vector<NudgedRange> ranges, ranges_.Read(ctx, in));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, in.shape()));
    const float* const from = in.values<float>().data();
    float* const to = out.mutable_values<float>().data();
    const int64_t channels = static_cast<int64_t>(ranges.size());
    ForElements(ctx, in.num_elements(), 800, [&](int64_t begin, int64_t end) {
      if (channels == 1) {
        const NudgedRange range = ranges[0];
        TFLEET_VECTORIZE
        for (int64_t i = begin; i < end; ++i) to[i] = range.Quantize(from[i]);
      } else {
        for (int64_t i = begin; i < end; ++i) to[i] = ranges[i % channels].Quantize(from[i]);
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Ranges ranges_;
};

// Gradients pass where the input was inside; those of inputs outside add up to those of the bounds.
template <Given kGiven>
class FakeQuantGradient final : public Kernel {
 public:
  explicit FakeQuantGradient(KernelInit& init)
      : ranges_(init, kGiven == Given::kAttrs ? -1 : 2, kGiven == Given::kChannels) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor &gradients = ctx.input(0), &in = ctx.input(1);
    if (gradients.shape() != in.shape()) {
      return InvalidArgument("gradient and input must be the same size: ",
                             gradients.shape().ToString(), " vs. ", in.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const std::vector<NudgedRange> ranges, ranges_.Read(ctx, in));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, in.shape()));
    const float* const g = gradients.values<float>().data();
    const float* const x = in.values<float>().data();
    float* const to = out.mutable_values<float>().data();
    const int64_t channels = static_cast<int64_t>(ranges.size());
    std::vector<double> below(channels), above(channels);
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      const int64_t channel = channels == 1 ? 0 : i % channels;
      const NudgedRange& range = ranges[channel];
      to[i] = range.Holds(x[i]) ? g[i] : 0.0f;
      if (range.IsBelow(x[i])) below[channel] += g[i];
      if (range.IsAbove(x[i])) above[channel] += g[i];
    }
    ctx.SetOutput(0, std::move(out));
    if constexpr (kGiven != Given::kAttrs) {
      const Shape& shape = ctx.input(2).shape();
      for (int k = 0; k < 2; ++k) {
        const std::vector<double>& sums = k == 0 ? below : above;
        TFLEET_ASSIGN_OR_RETURN(Tensor bound, ctx.Allocate(DType::kFloat, shape));
        std::copy(sums.begin(), sums.end(), bound.mutable_values<float>().begin());
        ctx.SetOutput(1 + k, std::move(bound));
      }
    }
    return OkStatus();
  }

 private:
  const Ranges ranges_;
};

}  // namespace

void RegisterFakeQuantKernels(KernelRegistry& r) {
  r.Add<FakeQuant<Given::kAttrs>>("FakeQuantWithMinMaxArgs", kCpu);
  r.Add<FakeQuant<Given::kScalars>>("FakeQuantWithMinMaxVars", kCpu);
  r.Add<FakeQuant<Given::kChannels>>("FakeQuantWithMinMaxVarsPerChannel", kCpu);
  r.Add<FakeQuantGradient<Given::kAttrs>>("FakeQuantWithMinMaxArgsGradient", kCpu);
  r.Add<FakeQuantGradient<Given::kScalars>>("FakeQuantWithMinMaxVarsGradient", kCpu);
  r.Add<FakeQuantGradient<Given::kChannels>>("FakeQuantWithMinMaxVarsPerChannelGradient", kCpu);
}

}  // namespace tensorfleet::cpu
