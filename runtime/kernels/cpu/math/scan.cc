// Cumsum, Cumprod, CumulativeLogsumexp and L2Loss.
#include <cmath>
#include <complex>
#include <limits>

#include "runtime/kernels/cpu/math/axis.h"
#include "runtime/kernels/cpu/math/reduction.h"
#include "runtime/kernels/cpu/math/reduction_sum.h"

namespace tensorfleet::cpu {
namespace {

enum class Running { kSum, kProduct, kLogSumExp };

template <typename T, Running kOf>
class Scan final : public Kernel {
 public:
  using W = Widened<T>;

  explicit Scan(KernelInit& init) {
    init.Get("exclusive", &exclusive_);
    init.Get("reverse", &reverse_);
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    const Tensor& axis = ctx.input(1);
    if (!axis.shape().is_scalar()) {
      return InvalidArgument("ScanOp: axis must be a scalar, not ", axis.shape().ToString());
    }
    const int64_t asked = IntegerScalar(axis);
    if (asked < -in.rank() || asked >= in.rank()) {
      return InvalidArgument("ScanOp: Expected scan axis in the range [", -in.rank(), ", ",
                             in.rank(), "), but got ", asked);
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, in.dtype(), in.shape()));
    if (in.num_elements() > 0) {
      const AxisView view =
          ViewAxis(in.shape(), static_cast<int>(asked < 0 ? asked + in.rank() : asked));
      const T* x = in.values<T>().data();
      T* y = out.template mutable_values<T>().data();
      // A line along the axis for each position around it.
      ParallelFor(ctx, view.outer * view.inner, (kOf == Running::kLogSumExp ? 25 : 2) * view.size,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t line = begin; line < end; ++line) {
                      const int64_t first =
                          line / view.inner * view.size * view.inner + line % view.inner;
                      RunLine(x + first, y + first, view.size, view.inner);
                    }
                  });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static W Combine(const W& a, const W& b) {
    if constexpr (kOf == Running::kSum)
      return WrapAdd<W>(a, b);
    else if constexpr (kOf == Running::kLogSumExp) {
      if (a != a || b != b) return a + b;
      const W more = std::max(a, b), less = std::min(a, b);
      // Minus infinity is the logarithm of no sum at all.
      if (more == -std::numeric_limits<W>::infinity()) return more;
      return more + std::log1p(std::exp(less - more));
    } else if constexpr (std::is_integral_v<W>)
      return static_cast<W>(WrapInt<W>(a) * WrapInt<W>(b));
    else
      return a * b;
  }
  void RunLine(const T* x, T* y, int64_t size, int64_t stride) const {
    W running = kOf == Running::kProduct ? W(1) : W(0);
    if constexpr (kOf == Running::kLogSumExp) running = -std::numeric_limits<W>::infinity();
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = (reverse_ ? size - 1 - i : i) * stride;
      const W before = running;
      running = Combine(running, static_cast<W>(x[at]));
      y[at] = static_cast<T>(exclusive_ ? before : running);
    }
  }

  bool exclusive_ = false, reverse_ = false;
};

template <typename T>
using Cumsum = Scan<T, Running::kSum>;
template <typename T>
using Cumprod = Scan<T, Running::kProduct>;
template <typename T>
using CumulativeLogsumexp = Scan<T, Running::kLogSumExp>;

template <typename T>
struct SumOfSquares : Adding<T, Widened<T>> {
  using Acc = Widened<T>;
  static Acc Map(const T& x) { return static_cast<Acc>(x) * static_cast<Acc>(x); }
  static Acc Contiguous(const T* in, int64_t n) {
    if constexpr (kIsSmallFloat<T>) {
      float block[kSmallFloatBlock];
      float sum = 0;
      for (int64_t begin = 0; begin < n; begin += kSmallFloatBlock) {
        const int64_t size = std::min(kSmallFloatBlock, n - begin);
        ToFloat(in + begin, block, size);
        sum += ConstVectorMap<float>(block, size).square().sum();
      }
      return sum;
    } else {
      return ConstVectorMap<T>(in, n).square().sum();
    }
  }
};

template <typename T>
class L2Loss final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, Shape()));
    Widened<T> sum = 0;
    if (in.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(
          ReduceMiddle<SumOfSquares<T>>(ctx, in.values<T>().data(), 1, in.num_elements(), 1, &sum));
    }
    out.template mutable_values<T>()[0] = static_cast<T>(sum / 2);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterScanKernels(KernelRegistry& r) {
  AddForTypes<Cumsum>(r, "Cumsum", Numbers());
  AddForTypes<Cumprod>(r, "Cumprod", Numbers());
  AddForTypes<CumulativeLogsumexp>(r, "CumulativeLogsumexp", Floats());
  AddForTypes<L2Loss>(r, "L2Loss", Floats());
}

}  // namespace tensorfleet::cpu
