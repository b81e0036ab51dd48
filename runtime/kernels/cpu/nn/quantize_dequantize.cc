// QuantizeAndDequantize, versions 1 to 4: rounding to a number of bits within a range, which is
// given or that of the input; one for all, or one for each slice along an axis. Schemas:
// runtime/ops/nn/quantize_ops.cc.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/kernels/cpu/math/axis.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

enum class Rounding { kHalfToEven, kHalfUp };

template <typename T>
struct Quantizer {
  T low, high, scale, inverse;

  Quantizer(T min, T max, bool is_signed, int bits, bool is_narrow) : low(min), high(max) {
    const T one_less = is_narrow ? T(1) : T(0);
    const T least = is_signed ? -static_cast<T>(int64_t{1} << (bits - 1)) + one_less : T(0);
    const T most =
        static_cast<T>(is_signed ? (uint64_t{1} << (bits - 1)) - 1 : (uint64_t{1} << bits) - 1);
    constexpr T kNone = std::numeric_limits<T>::max();
    const T from_low = least * low > T(0) ? least / low : kNone;
    const T from_high = most * high > T(0) ? most / high : kNone;
    if (from_low < from_high) {
      scale = from_low;
      inverse = low / least;
      high = most * inverse;
    } else {
      scale = from_high;
      inverse = high / most;
      low = least * inverse;
    }
  }
  T Apply(T x, bool clamps, Rounding rounding) const {
    if (clamps) x = std::max(std::min(x, high), low);
    const T scaled = x * scale;
    return (rounding == Rounding::kHalfUp ? std::floor(scaled + T(0.5)) : std::nearbyint(scaled)) *
           inverse;
  }
};

Status CheckBits(int64_t bits, bool is_signed) {
  if (bits > 0 && bits < (is_signed ? 62 : 63)) return OkStatus();
  return InvalidArgument("num_bits is out of range: ", bits, " with signed_input_ ", is_signed);
}

// An axis attribute, which the first version lacks, as a view of the input: one slice when
// negative.
StatusOr<AxisView> SlicesOf(const Tensor& in, int64_t axis) {
  if (axis < -1) return InvalidArgument("Axis should be at least -1, but got ", axis);
  if (axis >= in.rank()) {
    return InvalidArgument("Axis should be less than dimension of input tensor. Axis: ", axis,
                           ", dimensions: ", in.rank());
  }
  if (axis < 0) return AxisView{1, 1, in.num_elements()};
  return ViewAxis(in.shape(), static_cast<int>(axis));
}

Status CheckBound(const Tensor& bound, const char* name, int64_t axis, int64_t slices) {
  if (axis < 0) {
    if (bound.num_elements() == 1) return OkStatus();
    return InvalidArgument("If axis==-1 ", name, " must be a scalar, but got shape ",
                           bound.shape().ToString());
  }
  if (bound.rank() == 1 && bound.dim(0) == slices) return OkStatus();
  return InvalidArgument(name, " must be a vector of ", slices, " elements, but got shape ",
                         bound.shape().ToString());
}

template <typename T>
class QuantizeAndDequantize final : public Kernel {
 public:
  explicit QuantizeAndDequantize(KernelInit& init) : version_(VersionOf(init.node().op())) {
    init.Get("signed_input", &is_signed_);
    init.Get("range_given", &is_range_given_);
    if (version_ != 3) {
      init.Get("num_bits", &bits_);
      if (init.status().ok()) {
        const Status fits = CheckBits(bits_, is_signed_);
        if (!fits.ok()) init.Fail(fits);
      }
    }
    if (version_ == 1) {
      init.Get("input_min", &min_);
      init.Get("input_max", &max_);
      if (is_range_given_ && min_ > max_) {
        init.Fail(InvalidArgument("Invalid range: input_min ", min_, " > input_max ", max_));
      }
      return;
    }
    init.Get("narrow_range", &is_narrow_);
    init.Get("axis", &axis_);
    std::string mode = "HALF_TO_EVEN";
    if (version_ != 3) init.Get("round_mode", &mode);
    rounding_ = mode == "HALF_UP" ? Rounding::kHalfUp : Rounding::kHalfToEven;
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    int64_t bits = bits_;
    if (version_ == 3) {
      if (ctx.input(3).num_elements() != 1) {
        return InvalidArgument("num_bits must have exactly one element, got shape ",
                               ctx.input(3).shape().ToString());
      }
      bits = ctx.input(3).values<int32_t>()[0];
      TFLEET_RETURN_IF_ERROR(CheckBits(bits, is_signed_));
    }
    TFLEET_ASSIGN_OR_RETURN(const AxisView view, SlicesOf(in, axis_));
    if (version_ > 1 && is_range_given_) {
      TFLEET_RETURN_IF_ERROR(CheckBound(ctx.input(1), "input_min", axis_, view.size));
      TFLEET_RETURN_IF_ERROR(CheckBound(ctx.input(2), "input_max", axis_, view.size));
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(in.dtype(), in.shape()));
    const T* const from = in.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    for (int64_t slice = 0; in.num_elements() > 0 && slice < view.size; ++slice) {
      T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
      if (!is_range_given_) {
        ForSlice(view, slice, [&](int64_t i) {
          low = from[i] < low ? from[i] : low;
          high = from[i] > high ? from[i] : high;
        });
      } else if (version_ == 1) {
        low = static_cast<T>(min_);
        high = static_cast<T>(max_);
      } else {
        low = ctx.input(1).values<T>()[slice];
        high = ctx.input(2).values<T>()[slice];
        if (low > high) {
          return InvalidArgument("Invalid range: input_min ", low, " > input_max ", high);
        }
      }
      const Quantizer<T> quantizer(low, high, is_signed_, static_cast<int>(bits), is_narrow_);
      ForSlice(view, slice,
               [&](int64_t i) { to[i] = quantizer.Apply(from[i], is_range_given_, rounding_); });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static int VersionOf(const std::string& op) { return op.back() == 'e' ? 1 : op.back() - '0'; }
  template <typename Visit>
  static void ForSlice(const AxisView& view, int64_t slice, const Visit& visit) {
    for (int64_t o = 0; o < view.outer; ++o) {
      const int64_t first = (o * view.size + slice) * view.inner;
      for (int64_t i = first; i < first + view.inner; ++i) visit(i);
    }
  }

  const int version_;
  bool is_signed_ = true, is_range_given_ = false, is_narrow_ = false;
  int64_t bits_ = 8, axis_ = -1;
  float min_ = 0, max_ = 0;
  Rounding rounding_ = Rounding::kHalfToEven;
};

// Gradients pass where the input was inside the range; the range itself gets none.
template <typename T>
class QuantizeAndDequantizeGrad final : public Kernel {
 public:
  explicit QuantizeAndDequantizeGrad(KernelInit& init) { init.Get("axis", &axis_); }
  Status Compute(KernelContext& ctx) const override {
    const Tensor &gradient = ctx.input(0), &in = ctx.input(1);
    if (gradient.shape() != in.shape()) {
      return InvalidArgument("gradient and input must be the same size: ",
                             gradient.shape().ToString(), " vs. ", in.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const AxisView view, SlicesOf(in, axis_));
    TFLEET_RETURN_IF_ERROR(CheckBound(ctx.input(2), "input_min", axis_, view.size));
    TFLEET_RETURN_IF_ERROR(CheckBound(ctx.input(3), "input_max", axis_, view.size));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(in.dtype(), in.shape()));
    const T* const g = gradient.values<T>().data();
    const T* const x = in.values<T>().data();
    const T* const low = ctx.input(2).values<T>().data();
    const T* const high = ctx.input(3).values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      const int64_t slice = i / view.inner % view.size;
      to[i] = x[i] >= low[slice] && x[i] <= high[slice] ? g[i] : T(0);
    }
    ctx.SetOutput(0, std::move(out));
    for (int k = 1; k <= 2; ++k) {
      TFLEET_ASSIGN_OR_RETURN(Tensor none, Tensor::Zeros(in.dtype(), ctx.input(1 + k).shape()));
      ctx.SetOutput(k, std::move(none));
    }
    return OkStatus();
  }

 private:
  int64_t axis_ = -1;
};

}  // namespace

void RegisterQuantizeDequantizeKernels(KernelRegistry& r) {
  for (const char* op : {"QuantizeAndDequantize", "QuantizeAndDequantizeV2",
                         "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"}) {
    AddForTypes<QuantizeAndDequantize>(r, op, FullFloats());
  }
  AddForTypes<QuantizeAndDequantizeGrad>(r, "QuantizeAndDequantizeV4Grad", FullFloats());
}

}  // namespace tensorfleet::cpu
