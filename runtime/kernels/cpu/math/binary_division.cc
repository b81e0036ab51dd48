// Quotients and remainders. Integers are checked for zero divisors before anything is computed.
#include <cmath>
#include <complex>

#include "runtime/kernels/cpu/math/binary.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kFloatCost = 500;
constexpr int64_t kIntCost = 4000;

using FloatsAndInts = Concat<Floats, Ints>;

template <typename T, bool = std::is_integral_v<T>>
struct DivisorCheck {};
template <typename T>
struct DivisorCheck<T, true> {
  static const char* Check(const T*, const T* b, int64_t, int64_t count) {
    bool any_zero = false;
    for (int64_t i = 0; i < count; ++i) any_zero |= b[i] == 0;
    return any_zero ? "Integer division by zero" : nullptr;
  }
};

// The hardware traps on the most negative number divided by -1; here it wraps around.
template <typename T>
T Quotient(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(WrapInt<T>(0) - WrapInt<T>(a));
  }
  return static_cast<T>(a / b);
}
template <typename T>
T Remainder(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

// Plain division: integers truncate.
template <typename T>
struct Div : DivisorCheck<T> {
  T operator()(const T& a, const T& b) const {
    if constexpr (std::is_integral_v<T>)
      return Quotient(a, b);
    else
      return a / b;
  }
};
template <typename T>
struct TruncateDiv : DivisorCheck<T> {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return Quotient(a, b);
    else
      return std::trunc(a / b);
  }
};
template <typename T>
struct FloorDiv : DivisorCheck<T> {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      const T q = Quotient(a, b);
      return ((a < 0) != (b < 0) && Remainder(a, b) != 0) ? q - 1 : q;
    } else {
      return std::floor(a / b);
    }
  }
};
// The remainder has the sign of the divisor.
template <typename T>
struct FloorMod : DivisorCheck<T> {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      const T m = Remainder(a, b);
      return m != 0 && ((m < 0) != (b < 0)) ? static_cast<T>(m + b) : m;
    } else {
      const T m = std::fmod(a, b);
      return m != 0 && ((m < 0) != (b < 0)) ? m + b : m;
    }
  }
};
// The remainder has the sign of the dividend.
template <typename T>
struct TruncateMod : DivisorCheck<T> {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return Remainder(a, b);
    else
      return std::fmod(a, b);
  }
};
template <typename T>
struct DivNoNan {
  T operator()(const T& a, const T& b) const { return b == T(0) ? T(0) : a / b; }
};

// Half and bfloat16 quotients are rounded to their type before they are rounded to whole numbers.
template <float (*to_whole)(float), typename T>
const char* DivideSmallFloats(const void* a, const void* b, void* out, int64_t n, int a_step,
                              int b_step) {
  MapBinary<Div, T>(a, b, out, n, a_step, b_step);
  T* quotients = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    quotients[i] = static_cast<T>(to_whole(static_cast<float>(quotients[i])));
  }
  return nullptr;
}
float FloorOf(float x) { return std::floor(x); }
float TruncateOf(float x) { return std::trunc(x); }

template <float (*to_whole)(float), typename T>
void AddSmallFloatDivision(KernelRegistry& r, absl::string_view op) {
  r.Add<BinaryKernelOf<BinaryKernel, &DivideSmallFloats<to_whole, T>, kDTypeOf<T>, kDTypeOf<T>,
                       kIntCost>>(op, kCpu, {{"T", kDTypeOf<T>}});
}

using SomeInts = Types<int32_t, int64_t>;

}  // namespace

void RegisterDivisionKernels(KernelRegistry& r) {
  AddBinary<Div, kFloatCost>(r, "RealDiv", FloatsAndComplexes());
  AddBinary<Div, kFloatCost>(r, "Div", FloatsAndComplexes());
  AddBinary<Div, kIntCost>(r, "Div", Ints());
  AddBinary<TruncateDiv, kIntCost>(r, "TruncateDiv", Concat<FullFloats, Ints>());
  AddBinary<FloorDiv, kIntCost>(r, "FloorDiv", Concat<FullFloats, Ints>());
  AddSmallFloatDivision<TruncateOf, Eigen::half>(r, "TruncateDiv");
  AddSmallFloatDivision<TruncateOf, Eigen::bfloat16>(r, "TruncateDiv");
  AddSmallFloatDivision<FloorOf, Eigen::half>(r, "FloorDiv");
  AddSmallFloatDivision<FloorOf, Eigen::bfloat16>(r, "FloorDiv");
  AddBinary<FloorMod, kIntCost>(r, "FloorMod", FloatsAndInts());
  AddBinary<TruncateMod, kIntCost>(r, "Mod", Concat<Floats, SomeInts>());
  AddBinary<TruncateMod, kIntCost>(r, "TruncateMod", Concat<Floats, SomeInts>());
  AddBinary<DivNoNan, kFloatCost>(r, "DivNoNan", FloatsAndComplexes());
}

}  // namespace tensorfleet::cpu
