// Functions of one number without branches or calls, so that the compiler makes loops over vectors
// of loops over them. Infinities and NaN go the usual way.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "absl/base/casts.h"

namespace tensorfleet::cpu {

// std::sqrt may write errno, and a loop of it is none over vectors for that. T is floating or
// complex.
template <typename T>
inline T SquareRoot(T x) {
#if defined(__SSE2__)
  if constexpr (std::is_same_v<T, float>) {
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
  } else if constexpr (std::is_same_v<T, double>) {
    const __m128d v = _mm_set_sd(x);
    return _mm_cvtsd_f64(_mm_sqrt_sd(v, v));
  }
#endif
  return std::sqrt(x);
}

// A polynomial in x, the coefficient of the highest power first.
template <typename T>
inline T Polynomial(T, T c) {
  return c;
}
template <typename T, typename... Rest>
inline T Polynomial(T x, T first, T second, Rest... rest) {
  return Polynomial(x, std::fma(first, x, second), rest...);
}

// e^x - 1, to two units of the last place. With x = n ln 2 + r it is 2^n (e^r - 1) + 2^n - 1, where
// the series of e^r - 1 converges quickly.
template <typename T>
inline T ExpMinusOne(T x) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  using Bits = std::conditional_t<kIsFloat, uint32_t, uint64_t>;
  constexpr int kMantissaBits = kIsFloat ? 23 : 52;
  constexpr Bits kBias = kIsFloat ? 127 : 1023;
  // ln 2 in two parts, of which the first times a small integer is exact.
  constexpr T kLn2High = kIsFloat ? 0.693359375 : 6.93145751953125e-1;
  constexpr T kLn2Low = kIsFloat ? -2.12194440e-4 : 1.42860682030941723212e-6;
  constexpr T kLowest = kIsFloat ? -30 : -60;  // -1 from here down
  constexpr T kHighest = kIsFloat ? 89 : 710;  // infinite from here up
  // Adding it rounds to an integer, which is then in the low bits.
  constexpr T kRounder = kIsFloat ? 12582912.0 : 6755399441055744.0;

  const T above = x < kLowest ? kLowest : x;
  const T bounded = above > kHighest ? kHighest : above;
  const T shifted = std::fma(bounded, T(1.44269504088896340736), kRounder);
  const T n = shifted - kRounder;
  const T r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, bounded));
  T series;
  if constexpr (kIsFloat) {
    series = Polynomial<T>(r, 1 / 5040.0f, 1 / 720.0f, 1 / 120.0f, 1 / 24.0f, 1 / 6.0f, 0.5f);
  } else {
    series = Polynomial<T>(r, 1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0,
                           1 / 362880.0, 1 / 40320.0, 1 / 5040.0, 1 / 720.0, 1 / 120.0, 1 / 24.0,
                           1 / 6.0, 0.5);
  }
  const T e_r = std::fma(r * r, series, r);
  // Half of 2^n: of the largest n, 2^n would not be finite.
  const Bits exponent = absl::bit_cast<Bits>(shifted) - absl::bit_cast<Bits>(kRounder) + kBias - 1;
  const T half = absl::bit_cast<T>(static_cast<Bits>(exponent << kMantissaBits));
  const T result = 2 * std::fma(half, e_r, half - T(0.5));
  return x == 0 ? x : result;
}

// The error function of a float, to five units of the last place: a quotient of polynomials in x^2
// (fitted by iterated least squares of the relative error), for it is 1 from 3.95 on.
inline float ErrorFunction(float x) {
  constexpr float kOneFrom = 3.95f;
  const float above = x < -kOneFrom ? -kOneFrom : x;
  const float bounded = above > kOneFrom ? kOneFrom : above;
  const float square = bounded * bounded;
  const float numerator = Polynomial(square, 2.02591673e-06f, 2.8468587e-04f, 3.80809233e-03f,
                                     5.28752357e-02f, 1.9154875e-01f, 1.12837911f);
  const float denominator = Polynomial(square, 3.78317927e-05f, 1.17070833e-03f, 1.50549524e-02f,
                                       1.14558972e-01f, 5.03088355e-01f, 1.0f);
  const float result = bounded * numerator / denominator;
  const float from_below = result < -1 ? -1.0f : result;
  return from_below > 1 ? 1.0f : from_below;
}

}  // namespace tensorfleet::cpu
