// Prod, Max, Min, All and Any.
#include <algorithm>
#include <complex>
#include <limits>

#include "runtime/kernels/cpu/binary.h"
#include "runtime/kernels/cpu/reduction.h"
#include "runtime/kernels/cpu/reduction_sum.h"

namespace tensorfleet::cpu {
namespace {

// A reducer out of a function of two values. Op: static Acc Start() and static Acc Apply(a, b).
template <typename T, typename AccType, template <typename> class Op>
struct Folding {
  using In = T;
  using Acc = AccType;
  static Acc Init() { return Op<Acc>::Start(); }
  static Acc Map(const T& x) { return static_cast<Acc>(x); }
  static Acc Combine(const Acc& a, const Acc& b) { return Op<Acc>::Apply(a, b); }
  static Acc Contiguous(const T* in, int64_t n) {
    // Several chains of their own, which the compiler makes vectors of.
    constexpr int64_t kLanes = 16;
    Acc lanes[kLanes];
    std::fill(lanes, lanes + kLanes, Init());
    const int64_t whole = n / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) lanes[k] = Combine(lanes[k], Map(in[i + k]));
    }
    for (int64_t i = whole; i < n; ++i) lanes[i - whole] = Combine(lanes[i - whole], Map(in[i]));
    Acc all = lanes[0];
    for (int64_t k = 1; k < kLanes; ++k) all = Combine(all, lanes[k]);
    return all;
  }
  static T Final(const Acc& x, int64_t) { return static_cast<T>(x); }
  template <typename A>
  using Over = Folding<A, A, Op>;
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
// NaN wins.
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
      return a != a || a > b ? a : b;
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
      return a != a || a < b ? a : b;
    else
      return a < b ? a : b;
  }
};
template <typename T>
struct Both {
  static T Start() { return true; }
  static T Apply(T a, T b) { return a & b; }
};
template <typename T>
struct Either {
  static T Start() { return false; }
  static T Apply(T a, T b) { return a | b; }
};

template <typename T>
using Prod = Folding<T, Widened<T>, Product>;
template <typename T>
using Max = Folding<T, Widened<T>, Larger>;
template <typename T>
using Min = Folding<T, Widened<T>, Smaller>;

}  // namespace

void RegisterExtremeKernels(KernelRegistry& r) {
  AddReduction<Prod>(r, "Prod", Numbers());
  AddReduction<Max>(r, "Max", Reals());
  AddReduction<Min>(r, "Min", Reals());
  r.Add<ReductionKernel<Folding<bool, bool, Both>>>("All", kCpu);
  r.Add<ReductionKernel<Folding<bool, bool, Either>>>("Any", kCpu);
}

}  // namespace tensorfleet::cpu
