// Element-wise functions of one argument on floating types, through Eigen's vectorised array
// functions.
#include <cmath>
#include <limits>

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include "runtime/kernels/cpu/array_loop.h"

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
TFLEET_ARRAY_FUNCTION(Rsqrt, T(1) / x.sqrt());
TFLEET_ARRAY_FUNCTION(Exp, x.exp());
TFLEET_ARRAY_FUNCTION(Expm1, x.expm1());
TFLEET_ARRAY_FUNCTION(Log, x.log());
TFLEET_ARRAY_FUNCTION(Log1p, x.log1p());
TFLEET_ARRAY_FUNCTION(Sin, x.sin());
TFLEET_ARRAY_FUNCTION(Cos, x.cos());
TFLEET_ARRAY_FUNCTION(Tanh, x.tanh());
TFLEET_ARRAY_FUNCTION(Sigmoid, T(1) / (T(1) + (-x).exp()));
// In terms of |x|, so that nothing overflows.
TFLEET_ARRAY_FUNCTION(Softplus, x.max(T(0)) + (-x.abs()).exp().log1p());
TFLEET_ARRAY_FUNCTION(Elu, (x < T(0)).select(x.expm1(), x));

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;
TFLEET_ARRAY_FUNCTION(Selu, (x < T(0)).select(T(kSeluScaleAlpha) * x.expm1(), T(kSeluScale) * x));
#undef TFLEET_ARRAY_FUNCTION

// Functions that Eigen has no vector form of.
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
TFLEET_SCALAR_FUNCTION(Erf, std::erf);
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
  AddArrayUnary<Rsqrt, 600>(r, "Rsqrt");
  AddArrayUnary<Exp, 1000>(r, "Exp");
  AddArrayUnary<Expm1, 2000>(r, "Expm1");
  AddArrayUnary<Log, 1500>(r, "Log");
  AddArrayUnary<Log1p, 2500>(r, "Log1p");
  AddArrayUnary<Sin, 2000>(r, "Sin");
  AddArrayUnary<Cos, 2000>(r, "Cos");
  AddArrayUnary<Tanh, 1000>(r, "Tanh");
  AddArrayUnary<Sigmoid, 1500>(r, "Sigmoid");
  AddArrayUnary<Softplus, 3000>(r, "Softplus");
  AddArrayUnary<Elu, 2000>(r, "Elu");
  AddArrayUnary<Selu, 2000>(r, "Selu");
  AddUnary<Tan, kSlow>(r, "Tan", Floats());
  AddUnary<Asin, kSlow>(r, "Asin", Floats());
  AddUnary<Acos, kSlow>(r, "Acos", Floats());
  AddUnary<Atan, kSlow>(r, "Atan", Floats());
  AddUnary<Sinh, kSlow>(r, "Sinh", Floats());
  AddUnary<Cosh, kSlow>(r, "Cosh", Floats());
  AddUnary<Asinh, kSlow>(r, "Asinh", Floats());
  AddUnary<Acosh, kSlow>(r, "Acosh", Floats());
  AddUnary<Atanh, kSlow>(r, "Atanh", Floats());
  AddUnary<Erf, kSlow>(r, "Erf", Floats());
  AddUnary<Erfc, kSlow>(r, "Erfc", Floats());
  AddUnary<Lgamma, kSlow>(r, "Lgamma", Floats());
  AddUnary<Digamma, kSlow>(r, "Digamma", Floats());
}

}  // namespace tensorfleet::cpu
