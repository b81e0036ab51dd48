// Powers, logarithms and angles of two arguments.
#include <cmath>
#include <complex>
#include <limits>

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include "runtime/kernels/cpu/math/binary.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kSlow = 20000;

template <typename T>
struct Pow {
  T operator()(const T& a, const T& b) const { return std::pow(a, b); }
};
template <typename T>
struct IntPow {
  static const char* Check(const T*, const T* b, int64_t, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (b[i] < 0) return "Integers to negative integer powers are not allowed";
    }
    return nullptr;
  }
  T operator()(T a, T b) const {
    WrapInt<T> result = 1, factor = WrapInt<T>(a);
    for (auto bits = WrapInt<T>(b); bits != 0; bits >>= 1) {
      if (bits & 1) result *= factor;
      factor *= factor;
    }
    return static_cast<T>(result);
  }
};
// 0 wherever the first argument is 0, whatever the second one is.
template <typename T>
struct Xdivy {
  T operator()(const T& a, const T& b) const { return a == T(0) ? T(0) : a / b; }
};
template <typename T>
struct Xlogy {
  T operator()(const T& a, const T& b) const { return a == T(0) ? T(0) : a * std::log(b); }
};
template <typename T>
struct Xlog1py {
  T operator()(const T& a, const T& b) const {
    if constexpr (Eigen::NumTraits<T>::IsComplex) {
      return a == T(0) ? T(0) : a * std::log(T(1) + b);
    } else {
      return a == T(0) ? T(0) : a * std::log1p(b);
    }
  }
};
template <typename T>
struct Atan2 {
  T operator()(T y, T x) const { return std::atan2(y, x); }
};
template <typename T>
struct Polygamma {
  T operator()(T order, T x) const { return Eigen::numext::polygamma(order, x); }
};
template <typename T>
struct Zeta {
  T operator()(T x, T q) const {
    // Poles at whole q up to zero. Eigen asks whether the order is even by way of an integer, and
    // large ones, all even, have none.
    constexpr T kNoInteger = T(1ull << 63);
    if (x >= kNoInteger && q <= T(0) && q == std::floor(q))
      return std::numeric_limits<T>::infinity();
    return Eigen::numext::zeta(x, q);
  }
};

}  // namespace

void RegisterMathBinaryKernels(KernelRegistry& r) {
  AddBinary<Pow, kSlow>(r, "Pow", FloatsAndComplexes());
  AddBinary<IntPow, 5000>(r, "Pow", SignedInts());
  AddBinary<Xdivy, 500>(r, "Xdivy", FloatsAndComplexes());
  AddBinary<Xlogy, kSlow>(r, "Xlogy", FloatsAndComplexes());
  AddBinary<Xlog1py, kSlow>(r, "Xlog1py", FloatsAndComplexes());
  AddBinary<Atan2, kSlow>(r, "Atan2", Floats());
  AddBinary<Polygamma, 4 * kSlow>(r, "Polygamma", FullFloats());
  AddBinary<Zeta, 4 * kSlow>(r, "Zeta", FullFloats());
}

}  // namespace tensorfleet::cpu
