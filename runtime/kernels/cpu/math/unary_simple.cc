// Element-wise ops of one argument that cost an instruction or two.
#include <cmath>
#include <limits>

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kCheap = 150;

template <typename T>
struct Abs {
  T operator()(T x) const { return WrapAbs(x); }
};
template <typename T>
struct Neg {
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return WrapSub(T(0), x);
    else
      return -x;
  }
};
template <typename T>
struct Square {
  T operator()(T x) const {
    // uint16 would be multiplied as int, which may overflow.
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(uint64_t(x) * uint64_t(x));
    else
      return x * x;
  }
};
template <typename T>
struct Reciprocal {
  T operator()(T x) const { return T(1) / x; }
};
template <typename T>
struct Sign {
  T operator()(T x) const {
    if constexpr (Eigen::NumTraits<T>::IsComplex) {
      const auto magnitude = std::abs(x);
      return magnitude == 0 ? T(0) : x / magnitude;
    } else if constexpr (std::is_floating_point_v<T>) {
      return x != x ? x : static_cast<T>((x > 0) - (x < 0));
    } else {
      return static_cast<T>((x > 0) - (x < 0));
    }
  }
};
template <typename T>
struct Floor {
  T operator()(T x) const { return std::floor(x); }
};
template <typename T>
struct Ceil {
  T operator()(T x) const { return std::ceil(x); }
};
template <typename T>
struct RoundToEven {
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return std::nearbyint(x);
  }
};
template <typename T>
struct IsNan {
  bool operator()(T x) const { return x != x; }
};
template <typename T>
struct IsInf {
  bool operator()(T x) const { return std::abs(x) == std::numeric_limits<T>::infinity(); }
};
template <typename T>
struct IsFinite {
  bool operator()(T x) const { return std::abs(x) < std::numeric_limits<T>::infinity(); }
};
template <typename T>
struct Not {
  T operator()(T x) const { return !x; }
};
template <typename T>
struct FlipBits {
  T operator()(T x) const { return static_cast<T>(~x); }
};
template <typename T>
struct Relu {
  // Lets NaN through.
  T operator()(T x) const { return x < T(0) ? T(0) : x; }
};
template <typename T>
struct Relu6 {
  T operator()(T x) const { return x < T(0) ? T(0) : (x > T(6) ? T(6) : x); }
};
template <typename T>
struct Softsign {
  T operator()(T x) const { return x / (std::abs(x) + T(1)); }
};

}  // namespace

void RegisterSimpleUnaryKernels(KernelRegistry& r) {
  AddUnary<Abs, kCheap>(r, "Abs", Concat<Floats, SignedInts>());
  AddUnary<Neg, kCheap>(r, "Neg", Concat<FloatsAndComplexes, SignedInts>());
  AddUnary<Square, kCheap>(r, "Square", Numbers());
  AddUnary<Reciprocal, kCheap>(r, "Reciprocal", FloatsAndComplexes());
  AddUnary<Reciprocal, kCheap>(r, "Inv", FloatsAndComplexes());
  AddUnary<Sign, kCheap>(r, "Sign", Concat<FloatsAndComplexes, SignedInts>());
  AddUnary<Floor, kCheap>(r, "Floor", Floats());
  AddUnary<Ceil, kCheap>(r, "Ceil", Floats());
  AddUnary<RoundToEven, kCheap>(r, "Round", Concat<Floats, Types<int32_t, int64_t>>());
  AddUnary<RoundToEven, kCheap>(r, "Rint", Floats());
  AddUnary<IsNan, kCheap>(r, "IsNan", Floats());
  AddUnary<IsInf, kCheap>(r, "IsInf", Floats());
  AddUnary<IsFinite, kCheap>(r, "IsFinite", Floats());
  AddUnary<FlipBits, kCheap>(r, "Invert", Ints());
  AddUnary<Relu, kCheap>(r, "Relu", Reals());
  AddUnary<Relu6, kCheap>(r, "Relu6", Reals());
  AddUnary<Softsign, kCheap>(r, "Softsign", Floats());
  r.Add<UnaryKernelOf<&MapLoop<Not, bool>, DType::kBool, DType::kBool, kCheap>>("LogicalNot", kCpu);
}

}  // namespace tensorfleet::cpu
