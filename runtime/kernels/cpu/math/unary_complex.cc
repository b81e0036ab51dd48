// Element-wise functions of one complex argument.
#include <cmath>
#include <complex>

#include "runtime/kernels/cpu/elementwise.h"

namespace tensorfleet::cpu {
namespace {

#define TFLEET_COMPLEX_FUNCTION(Name, expression)         \
  template <typename T>                                   \
  struct Name {                                           \
    T operator()(const T& x) const { return expression; } \
  }
TFLEET_COMPLEX_FUNCTION(Sqrt, std::sqrt(x));
TFLEET_COMPLEX_FUNCTION(Rsqrt, T(1) / std::sqrt(x));
TFLEET_COMPLEX_FUNCTION(Exp, std::exp(x));
TFLEET_COMPLEX_FUNCTION(Log, std::log(x));
TFLEET_COMPLEX_FUNCTION(Sin, std::sin(x));
TFLEET_COMPLEX_FUNCTION(Cos, std::cos(x));
TFLEET_COMPLEX_FUNCTION(Tan, std::tan(x));
TFLEET_COMPLEX_FUNCTION(Asin, std::asin(x));
TFLEET_COMPLEX_FUNCTION(Acos, std::acos(x));
TFLEET_COMPLEX_FUNCTION(Atan, std::atan(x));
TFLEET_COMPLEX_FUNCTION(Sinh, std::sinh(x));
TFLEET_COMPLEX_FUNCTION(Cosh, std::cosh(x));
TFLEET_COMPLEX_FUNCTION(Tanh, std::tanh(x));
TFLEET_COMPLEX_FUNCTION(Asinh, std::asinh(x));
TFLEET_COMPLEX_FUNCTION(Acosh, std::acosh(x));
TFLEET_COMPLEX_FUNCTION(Atanh, std::atanh(x));
TFLEET_COMPLEX_FUNCTION(Sigmoid, T(1) / (T(1) + std::exp(-x)));
#undef TFLEET_COMPLEX_FUNCTION

// exp(x) - 1 without cancellation near 0.
template <typename T>
struct Expm1 {
  T operator()(const T& x) const {
    const auto half_sine = std::sin(x.imag() / 2);
    return T(std::expm1(x.real()) * std::cos(x.imag()) - 2 * half_sine * half_sine,
             std::exp(x.real()) * std::sin(x.imag()));
  }
};
template <typename T>
struct Log1p {
  T operator()(const T& x) const {
    const auto a = x.real(), b = x.imag();
    return T(std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a));
  }
};

constexpr int64_t kSlow = 30000;

}  // namespace

void RegisterComplexUnaryKernels(KernelRegistry& r) {
  AddUnary<Sqrt, kSlow>(r, "Sqrt", Complexes());
  AddUnary<Rsqrt, kSlow>(r, "Rsqrt", Complexes());
  AddUnary<Exp, kSlow>(r, "Exp", Complexes());
  AddUnary<Expm1, kSlow>(r, "Expm1", Complexes());
  AddUnary<Log, kSlow>(r, "Log", Complexes());
  AddUnary<Log1p, kSlow>(r, "Log1p", Complexes());
  AddUnary<Sin, kSlow>(r, "Sin", Complexes());
  AddUnary<Cos, kSlow>(r, "Cos", Complexes());
  AddUnary<Tan, kSlow>(r, "Tan", Complexes());
  AddUnary<Asin, kSlow>(r, "Asin", Complexes());
  AddUnary<Acos, kSlow>(r, "Acos", Complexes());
  AddUnary<Atan, kSlow>(r, "Atan", Complexes());
  AddUnary<Sinh, kSlow>(r, "Sinh", Complexes());
  AddUnary<Cosh, kSlow>(r, "Cosh", Complexes());
  AddUnary<Tanh, kSlow>(r, "Tanh", Complexes());
  AddUnary<Asinh, kSlow>(r, "Asinh", Complexes());
  AddUnary<Acosh, kSlow>(r, "Acosh", Complexes());
  AddUnary<Atanh, kSlow>(r, "Atanh", Complexes());
  AddUnary<Sigmoid, kSlow>(r, "Sigmoid", Complexes());
}

}  // namespace tensorfleet::cpu
