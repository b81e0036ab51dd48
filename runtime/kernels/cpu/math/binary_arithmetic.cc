// Sums, differences, products, minima and maxima.
#include <algorithm>
#include <complex>
#include <string>

#include "runtime/kernels/cpu/math/binary.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kCheap = 200;

template <typename T>
struct Add {
  T operator()(const T& a, const T& b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(WrapInt<T>(a) + WrapInt<T>(b));
    else
      return a + b;
  }
};
template <typename T>
struct Sub {
  T operator()(const T& a, const T& b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(WrapInt<T>(a) - WrapInt<T>(b));
    else
      return a - b;
  }
};
template <typename T>
struct Mul {
  T operator()(const T& a, const T& b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(WrapInt<T>(a) * WrapInt<T>(b));
    else
      return a * b;
  }
};
template <typename T>
struct MulNoNan {
  T operator()(const T& a, const T& b) const { return b == T(0) ? T(0) : a * b; }
};
template <typename T>
struct SquaredDifference {
  T operator()(const T& a, const T& b) const {
    const T d = Sub<T>()(a, b);
    if constexpr (Eigen::NumTraits<T>::IsComplex)
      return std::conj(d) * d;
    else
      return Mul<T>()(d, d);
  }
};
// A NaN on either side is the result.
template <typename T>
struct Maximum {
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return a != a ? a : (a < b || b != b ? b : a);
    else
      return a < b ? b : a;
  }
};
template <typename T>
struct Minimum {
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return a != a ? a : (b < a || b != b ? b : a);
    else
      return b < a ? b : a;
  }
};

}  // namespace

BinaryLoop FindAdd(DType type) {
  BinaryLoop found = nullptr;
  ForEachType(Numbers(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kDTypeOf<T> == type) found = &MapBinary<Add, T>;
  });
  return found;
}

void RegisterArithmeticKernels(KernelRegistry& r) {
  AddBinary<Add, kCheap>(r, "AddV2", Numbers());
  AddBinary<Add, kCheap>(r, "Add", Concat<Numbers, Types<std::string>>());
  AddBinary<Sub, kCheap>(r, "Sub", Numbers());
  AddBinary<Mul, kCheap>(r, "Mul", Numbers());
  AddBinary<MulNoNan, kCheap>(r, "MulNoNan", FloatsAndComplexes());
  AddBinary<SquaredDifference, kCheap>(r, "SquaredDifference",
                                       Concat<FloatsAndComplexes, Types<int32_t, int64_t>>());
  AddBinary<Maximum, kCheap>(r, "Maximum", Reals());
  AddBinary<Minimum, kCheap>(r, "Minimum", Reals());
}

}  // namespace tensorfleet::cpu
