// Element-wise functions of one argument on floating types, through Eigen's vectorised array
// functions.
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include "runtime/kernels/cpu/array_loop.h"
#include "runtime/kernels/cpu/math/vector_math.h"

namespace tensorfleet::cpu {
namespace {

#define TFLEET_ARRAY_FUNCTION(Name, expression) \
  struct Name {                                 \
    template <typename X>                       \
    static auto Apply(const X& x) {             \
      using T = typename X::Scalar;             \
      (void)sizeof(T);                          \
      return expression;                        \
    }                                           \
  }

TFLEET_ARRAY_FUNCTION(Sqrt, x.sqrt());
TFLEET_ARRAY_FUNCTION(Exp, x.exp());
TFLEET_ARRAY_FUNCTION(Log, x.log());
TFLEET_ARRAY_FUNCTION(Log1p, x.log1p());
TFLEET_ARRAY_FUNCTION(Sin, x.sin());
TFLEET_ARRAY_FUNCTION(Cos, x.cos());
TFLEET_ARRAY_FUNCTION(Tanh, x.tanh());
TFLEET_ARRAY_FUNCTION(Sigmoid, T(1) / (T(1) + (-x).exp()));
// In terms of |x|, so that nothing overflows.
TFLEET_ARRAY_FUNCTION(Softplus, x.max(T(0)) + (-x.abs()).exp().log1p());
#undef TFLEET_ARRAY_FUNCTION

#if defined(__AVX2__) && defined(__FMA__)
// The processor's estimate, of 12 bits, made exact to the last place or so by one step of the third
// order; division and square root take longer. What the estimate is not there for (zeros, what is
// below the normal numbers, negative ones, infinities, NaN) is computed in the long way.
inline __m256 ReciprocalSquareRoots(__m256 x) {
  const __m256 one = _mm256_set1_ps(1);
  const __m256 estimate = _mm256_rsqrt_ps(x);
  const __m256 error = _mm256_fnmadd_ps(_mm256_mul_ps(x, estimate), estimate, one);
  const __m256 step =
      _mm256_mul_ps(error, _mm256_fmadd_ps(error, _mm256_set1_ps(0.375f), _mm256_set1_ps(0.5f)));
  const __m256 result = _mm256_fmadd_ps(estimate, step, estimate);
  const __m256 is_usual = _mm256_and_ps(
      _mm256_cmp_ps(x, _mm256_set1_ps(std::numeric_limits<float>::min()), _CMP_GE_OQ),
      _mm256_cmp_ps(x, _mm256_set1_ps(std::numeric_limits<float>::max()), _CMP_LE_OQ));
  if (_mm256_movemask_ps(is_usual) == 0xff) return result;
  return _mm256_blendv_ps(_mm256_div_ps(one, _mm256_sqrt_ps(x)), result, is_usual);
}

void ReciprocalSquareRoots(const float* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, ReciprocalSquareRoots(_mm256_loadu_ps(x + i)));
  if (i == n) return;
  float rest[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  std::copy(x + i, x + n, rest);
  _mm256_storeu_ps(rest, ReciprocalSquareRoots(_mm256_loadu_ps(rest)));
  std::copy(rest, rest + (n - i), y + i);
}
#else
void ReciprocalSquareRoots(const float* x, float* y, int64_t n) {
  ArrayMap<float>(y, n) = 1.0f / ConstArrayMap<float>(x, n).sqrt();
}
#endif

template <typename T>
void RsqrtLoop(const void* in, void* out, int64_t n) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if constexpr (std::is_same_v<T, double>) {
    ArrayMap<double>(y, n) = 1.0 / ConstArrayMap<double>(x, n).sqrt();
  } else if constexpr (std::is_same_v<T, float>) {
    ReciprocalSquareRoots(x, y, n);
  } else {
    float block[kSmallFloatBlock];
    for (int64_t begin = 0; begin < n; begin += kSmallFloatBlock) {
      const int64_t size = std::min(kSmallFloatBlock, n - begin);
      ToFloat(x + begin, block, size);
      ReciprocalSquareRoots(block, block, size);
      FromFloat(block, y + begin, size);
    }
  }
}

template <typename... Ts>
void AddRsqrt(KernelRegistry& r, Types<Ts...>) {
  (r.Add<UnaryKernelOf<&RsqrtLoop<Ts>, kDTypeOf<Ts>, kDTypeOf<Ts>, 150>>("Rsqrt", kCpu,
                                                                         {{"T", kDTypeOf<Ts>}}),
   ...);
}

// What Eigen has no vector form of, or a slow one.
template <typename T>
struct Expm1 {
  T operator()(T x) const { return ExpMinusOne(x); }
};
template <typename T>
struct Elu {
  T operator()(T x) const {
    const T below = ExpMinusOne(x);
    return x < T(0) ? below : x;
  }
};
template <typename T>
struct Selu {
  T operator()(T x) const {
    const T below = T(1.7580993408473768599402175208123) * ExpMinusOne(x);
    return x < T(0) ? below : T(1.0507009873554804934193349852946) * x;
  }
};
template <typename T>
struct Erf {
  T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return ErrorFunction(x);
    else
      return std::erf(x);
  }
};

// Functions that are only there one by one.
#define TFLEET_SCALAR_FUNCTION(Name, function)      \
  template <typename T>                             \
  struct Name {                                     \
    T operator()(T x) const { return function(x); } \
  }
TFLEET_SCALAR_FUNCTION(Tan, std::tan);
TFLEET_SCALAR_FUNCTION(Asin, std::asin);
TFLEET_SCALAR_FUNCTION(Acos, std::acos);
TFLEET_SCALAR_FUNCTION(Atan, std::atan);
TFLEET_SCALAR_FUNCTION(Sinh, std::sinh);
TFLEET_SCALAR_FUNCTION(Cosh, std::cosh);
TFLEET_SCALAR_FUNCTION(Asinh, std::asinh);
TFLEET_SCALAR_FUNCTION(Acosh, std::acosh);
TFLEET_SCALAR_FUNCTION(Atanh, std::atanh);
TFLEET_SCALAR_FUNCTION(Erfc, std::erfc);
#undef TFLEET_SCALAR_FUNCTION

// std::lgamma writes a global; the reentrant form does not.
template <typename T>
struct Lgamma {
  T operator()(T x) const {
    int sign;
    if constexpr (std::is_same_v<T, float>)
      return ::lgammaf_r(x, &sign);
    else
      return ::lgamma_r(x, &sign);
  }
};

template <typename T>
struct Digamma {
  T operator()(T x) const { return Eigen::numext::digamma(x); }
};

constexpr int64_t kSlow = 12000;

}  // namespace

void RegisterMathUnaryKernels(KernelRegistry& r) {
  AddArrayUnary<Sqrt, 400>(r, "Sqrt");
  AddRsqrt(r, Floats());
  AddArrayUnary<Exp, 1000>(r, "Exp");
  AddUnary<Expm1, 800>(r, "Expm1", Floats());
  AddArrayUnary<Log, 1500>(r, "Log");
  AddArrayUnary<Log1p, 2500>(r, "Log1p");
  AddArrayUnary<Sin, 2000>(r, "Sin");
  AddArrayUnary<Cos, 2000>(r, "Cos");
  AddArrayUnary<Tanh, 1000>(r, "Tanh");
  AddArrayUnary<Sigmoid, 1500>(r, "Sigmoid");
  AddArrayUnary<Softplus, 3000>(r, "Softplus");
  AddUnary<Elu, 800>(r, "Elu", Floats());
  AddUnary<Selu, 800>(r, "Selu", Floats());
  AddUnary<Tan, kSlow>(r, "Tan", Floats());
  AddUnary<Asin, kSlow>(r, "Asin", Floats());
  AddUnary<Acos, kSlow>(r, "Acos", Floats());
  AddUnary<Atan, kSlow>(r, "Atan", Floats());
  AddUnary<Sinh, kSlow>(r, "Sinh", Floats());
  AddUnary<Cosh, kSlow>(r, "Cosh", Floats());
  AddUnary<Asinh, kSlow>(r, "Asinh", Floats());
  AddUnary<Acosh, kSlow>(r, "Acosh", Floats());
  AddUnary<Atanh, kSlow>(r, "Atanh", Floats());
  AddUnary<Erf, 1000>(r, "Erf", Floats());
  AddUnary<Erfc, kSlow>(r, "Erfc", Floats());
  AddUnary<Lgamma, kSlow>(r, "Lgamma", Floats());
  AddUnary<Digamma, kSlow>(r, "Digamma", Floats());
}

}  // namespace tensorfleet::cpu
