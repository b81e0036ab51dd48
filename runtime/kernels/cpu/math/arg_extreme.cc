// ArgMax and ArgMin.
#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/kernels/cpu/array/cast.h"
#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/math/axis.h"

namespace tensorfleet::cpu {
namespace {

// NaN is neither larger nor smaller than anything, so it is never chosen; of equals the first is.
template <typename T, bool largest>
bool IsBetter(T a, T b) {
  if constexpr (largest)
    return a > b;
  else
    return a < b;
}
template <typename T, bool largest>
T Worst() {
  if constexpr (std::is_same_v<T, bool>)
    return !largest;
  else if constexpr (largest)
    return std::numeric_limits<T>::lowest();
  else
    return std::numeric_limits<T>::max();
}

// The best of `n` values and Worst.
template <typename T, bool largest>
T BestValue(const T* x, int64_t n) {
  constexpr int64_t kLanes = 64;  // chains of their own, which the compiler makes vectors of
  T lanes[kLanes];
  std::fill(lanes, lanes + kLanes, Worst<T, largest>());
  const auto take = [](T& best, T value) {
    best = IsBetter<T, largest>(value, best) ? value : best;
  };
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) take(lanes[k], x[i + k]);
  }
  for (int64_t i = whole; i < n; ++i) take(lanes[i - whole], x[i]);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) take(lanes[k], lanes[k + half]);
  }
  return lanes[0];
}

template <typename T, bool largest>
int64_t BestOf(const T* x, int64_t n) {
  // Finds the block first, whose values are compared without branches, then the place in it.
  constexpr int64_t kBlock = 512;
  T best = Worst<T, largest>();
  int64_t block = 0;
  bool is_found = false;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const T value = BestValue<T, largest>(x + begin, std::min(kBlock, n - begin));
    if (IsBetter<T, largest>(value, best)) {
      best = value;
      block = begin;
      is_found = true;
    }
  }
  if (!is_found) return 0;
  return std::find(x + block, x + n, best) - x;
}

template <typename T, bool largest>
class ArgExtreme final : public Kernel {
 public:
  explicit ArgExtreme(KernelInit& init) {
    init.Get("output_type", &output_type_);
    narrow_ = FindCast(DType::kInt64, output_type_);
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    const Tensor& dimension = ctx.input(1);
    if (!dimension.shape().is_scalar()) {
      return InvalidArgument("dim must be a scalar, but received tensor of shape: ",
                             dimension.shape().ToString());
    }
    const int64_t asked = IntegerScalar(dimension);
    if (asked < -in.rank() || asked >= in.rank()) {
      return InvalidArgument("Expected dimension in the range [", -in.rank(), ", ", in.rank(),
                             "), but got ", asked);
    }
    const int axis = static_cast<int>(asked < 0 ? asked + in.rank() : asked);
    if (in.dim(axis) == 0) {
      return InvalidArgument("Reduction axis ", axis, " is empty in shape ", in.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, in.shape().SubShape(0, axis).Concatenated(
                                                   in.shape().SubShape(axis + 1, in.rank())));
    TFLEET_ASSIGN_OR_RETURN(Tensor positions, ctx.Allocate(DType::kInt64, shape));
    const AxisView view = ViewAxis(in.shape(), axis);
    const T* x = in.values<T>().data();
    int64_t* to = positions.mutable_values<int64_t>().data();
    if (shape.num_elements() > 0) {
      ParallelFor(ctx, view.outer, 20 + view.size * view.inner / 4,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t o = begin; o < end; ++o) {
                      const T* from = x + o * view.size * view.inner;
                      if (view.inner == 1)
                        to[o] = BestOf<T, largest>(from, view.size);
                      else
                        BestOfColumns(from, view, to + o * view.inner);
                    }
                  });
    }
    if (output_type_ == DType::kInt64) {
      ctx.SetOutput(0, std::move(positions));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(output_type_, shape));
    narrow_(positions.raw(), out.mutable_raw(), shape.num_elements());
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static void BestOfColumns(const T* x, const AxisView& view, int64_t* positions) {
    std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> best(view.inner,
                                                                              Worst<T, largest>());
    std::fill(positions, positions + view.inner, 0);
    for (int64_t i = 0; i < view.size; ++i) {
      const T* row = x + i * view.inner;
      for (int64_t j = 0; j < view.inner; ++j) {
        if (IsBetter<T, largest>(row[j], static_cast<T>(best[j]))) {
          best[j] = row[j];
          positions[j] = i;
        }
      }
    }
  }

  DType output_type_ = DType::kInt64;
  UnaryLoop narrow_ = nullptr;
};

template <typename T>
using ArgMax = ArgExtreme<T, true>;
template <typename T>
using ArgMin = ArgExtreme<T, false>;

using ArgTypes = Concat<Reals, Types<bool>>;

}  // namespace

void RegisterArgExtremeKernels(KernelRegistry& r) {
  AddForTypes<ArgMax>(r, "ArgMax", ArgTypes());
  AddForTypes<ArgMin>(r, "ArgMin", ArgTypes());
}

}  // namespace tensorfleet::cpu
