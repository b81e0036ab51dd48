// Prod, Max, Min, All and Any.
#if defined(__AVX__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <complex>
#include <limits>

#include "runtime/kernels/cpu/math/binary.h"
#include "runtime/kernels/cpu/math/reduction.h"
#include "runtime/kernels/cpu/math/reduction_sum.h"

namespace tensorfleet::cpu {
namespace {

#if defined(__AVX__)
// The largest or smallest of `n` numbers, or NaN where one is NaN. The processor's maximum leaves
// its second operand where the first is NaN: NaNs are looked for separately, two vectors at a time.
template <bool largest>
float ExtremeOf(const float* in, int64_t n) {
  const auto better = [](__m256 x, __m256 best) {
    return largest ? _mm256_max_ps(x, best) : _mm256_min_ps(x, best);
  };
  const auto has_nan = [](__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const __m256 worst = _mm256_set1_ps(largest ? -kInfinity : kInfinity);
  __m256 best[4] = {worst, worst, worst, worst};
  __m256 nan = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    __m256 x[4];
    for (int k = 0; k < 4; ++k) x[k] = _mm256_loadu_ps(in + i + 8 * k);
    for (int k = 0; k < 4; ++k) best[k] = better(x[k], best[k]);
    nan = _mm256_or_ps(nan, _mm256_or_ps(has_nan(x[0], x[1]), has_nan(x[2], x[3])));
  }
  for (; i + 8 <= n; i += 8) {
    const __m256 x = _mm256_loadu_ps(in + i);
    best[0] = better(x, best[0]);
    nan = _mm256_or_ps(nan, has_nan(x, x));
  }
  float lanes[8];
  _mm256_storeu_ps(lanes, better(better(best[0], best[1]), better(best[2], best[3])));
  bool any_nan = _mm256_movemask_ps(nan) != 0;
  float result = lanes[0];
  const auto take = [&](float x) { result = (largest ? x > result : x < result) ? x : result; };
  for (int k = 1; k < 8; ++k) take(lanes[k]);
  for (; i < n; ++i) {
    any_nan |= in[i] != in[i];
    take(in[i]);
  }
  return any_nan ? std::numeric_limits<float>::quiet_NaN() : result;
}
#endif

// A reducer out of a function of two values. Op: static Acc Start() and static Acc Apply(a, b).
template <typename T, typename AccType, template <typename> class Op>
struct Folding {
  using In = T;
  using Acc = AccType;
  static Acc Init() { return Op<Acc>::Start(); }
  static Acc Map(const T& x) { return static_cast<Acc>(x); }
  static Acc Combine(const Acc& a, const Acc& b) { return Op<Acc>::Apply(a, b); }
  static Acc Contiguous(const T* in, int64_t n) {
    return n < 128 ? InLanes<16>(in, n) : InLanes<64>(in, n);
  }
  static T Final(const Acc& x, int64_t) { return static_cast<T>(x); }
  template <typename A>
  using Over = Folding<A, A, Op>;

 private:
  // Several chains of their own, which the compiler makes vectors of; many of them, so that one
  // need not wait for another.
  template <int64_t kLanes>
  static Acc InLanes(const T* in, int64_t n) {
    Acc lanes[kLanes];
    std::fill(lanes, lanes + kLanes, Init());
    const int64_t whole = n / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) lanes[k] = Combine(lanes[k], Map(in[i + k]));
    }
    for (int64_t i = whole; i < n; ++i) lanes[i - whole] = Combine(lanes[i - whole], Map(in[i]));
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (int64_t k = 0; k < half; ++k) lanes[k] = Combine(lanes[k], lanes[k + half]);
    }
    return lanes[0];
  }
};

template <typename T>
struct Product {
  static T Start() { return T(1); }
  static T Apply(const T& a, const T& b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(WrapInt<T>(a) * WrapInt<T>(b));
    else
      return a * b;
  }
};
// NaN wins: `b` does where it is one, for it is larger and smaller than nothing.
template <typename T>
T NanOr(T a, T extreme) {
  return a != a ? a : extreme;
}
template <typename T>
struct Larger {
  static T Start() {
    if constexpr (std::is_floating_point_v<T>)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return NanOr(a, a > b ? a : b);
    else
      return a > b ? a : b;
  }
};
template <typename T>
struct Smaller {
  static T Start() {
    if constexpr (std::is_floating_point_v<T>)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return NanOr(a, a < b ? a : b);
    else
      return a < b ? a : b;
  }
};
template <typename T>
struct Both {
  static T Start() { return 1; }
  static T Apply(T a, T b) { return a & b; }
};
template <typename T>
struct Either {
  static T Start() { return 0; }
  static T Apply(T a, T b) { return a | b; }
};

template <typename T>
using Prod = Folding<T, Widened<T>, Product>;
// Extremes are exact however they are gathered.
template <typename T, template <typename> class Op, bool largest>
struct Extreme : Folding<T, Widened<T>, Op> {
  static constexpr bool kIsExact = true;
#if defined(__AVX__)
  static Widened<T> Contiguous(const T* in, int64_t n) {
    if constexpr (std::is_same_v<T, float>)
      return ExtremeOf<largest>(in, n);
    else
      return Folding<T, Widened<T>, Op>::Contiguous(in, n);
  }
#endif
  template <typename A>
  using Over = Extreme<A, Op, largest>;
};
template <typename T>
using Max = Extreme<T, Larger, true>;
template <typename T>
using Min = Extreme<T, Smaller, false>;

}  // namespace

void RegisterExtremeKernels(KernelRegistry& r) {
  AddReduction<Prod>(r, "Prod", Numbers());
  AddReduction<Max>(r, "Max", Reals());
  AddReduction<Min>(r, "Min", Reals());
  r.Add<ReductionKernel<Folding<bool, uint8_t, Both>>>("All", kCpu);
  r.Add<ReductionKernel<Folding<bool, uint8_t, Either>>>("Any", kCpu);
}

}  // namespace tensorfleet::cpu
