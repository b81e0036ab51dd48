// Arithmetic of elements. Integers wrap around, as the hardware's do and TensorFlow's kernels rely
// on; in C++ that is defined for unsigned ones only.
#pragma once

#include <cmath>
#include <type_traits>

namespace tensorfleet {

// The type in which integers of type T are added and multiplied: small ones would be promoted to a
// signed one.
template <typename T>
using WrapInt = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <typename T>
inline constexpr bool kWraps = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <typename T>
T WrapAdd(const T& a, const T& b) {
  if constexpr (kWraps<T>) {
    return static_cast<T>(WrapInt<T>(a) + WrapInt<T>(b));
  } else {
    return static_cast<T>(a + b);
  }
}

template <typename T>
T WrapSub(const T& a, const T& b) {
  if constexpr (kWraps<T>) {
    return static_cast<T>(WrapInt<T>(a) - WrapInt<T>(b));
  } else {
    return static_cast<T>(a - b);
  }
}

template <typename T>
T WrapMul(const T& a, const T& b) {
  if constexpr (kWraps<T>) {
    return static_cast<T>(WrapInt<T>(a) * WrapInt<T>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

// The lowest number has no positive twin: it stays.
template <typename T>
T WrapAbs(const T& a) {
  if constexpr (kWraps<T>) {
    return a < T(0) ? WrapSub(T(0), a) : a;
  } else {
    return std::abs(a);
  }
}

}  // namespace tensorfleet
