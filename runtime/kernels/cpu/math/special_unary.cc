// Special functions of one argument: Eigen's where it has them, Cephes' elsewhere.
#include <limits>

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include "runtime/kernels/cpu/array_loop.h"
#include "runtime/kernels/cpu/math/cephes.h"

namespace tensorfleet::cpu {
namespace {

#define TFLEET_ARRAY_FUNCTION(Name, function) \
  struct Name {                               \
    template <typename X>                     \
    static auto Apply(const X& x) {           \
      return function(x);                     \
    }                                         \
  }
TFLEET_ARRAY_FUNCTION(I0, Eigen::bessel_i0);
TFLEET_ARRAY_FUNCTION(I0e, Eigen::bessel_i0e);
TFLEET_ARRAY_FUNCTION(I1, Eigen::bessel_i1);
TFLEET_ARRAY_FUNCTION(I1e, Eigen::bessel_i1e);
TFLEET_ARRAY_FUNCTION(J0, Eigen::bessel_j0);
TFLEET_ARRAY_FUNCTION(J1, Eigen::bessel_j1);
TFLEET_ARRAY_FUNCTION(K0, Eigen::bessel_k0);
TFLEET_ARRAY_FUNCTION(K0e, Eigen::bessel_k0e);
TFLEET_ARRAY_FUNCTION(K1, Eigen::bessel_k1);
TFLEET_ARRAY_FUNCTION(K1e, Eigen::bessel_k1e);
TFLEET_ARRAY_FUNCTION(Y0, Eigen::bessel_y0);
TFLEET_ARRAY_FUNCTION(Y1, Eigen::bessel_y1);
#undef TFLEET_ARRAY_FUNCTION

// Eigen gives infinities outside of [0, 1].
template <typename X>
auto InverseNormal(const X& x) {
  using T = typename X::Scalar;
  return (x >= T(0) && x <= T(1)).select(x.ndtri(), std::numeric_limits<T>::quiet_NaN());
}
struct Ndtri {
  template <typename X>
  static auto Apply(const X& x) {
    return InverseNormal(x);
  }
};
// By the inverse of the normal distribution: erf(z) is 2 ndtr(z sqrt 2) - 1.
struct Erfinv {
  template <typename X>
  static auto Apply(const X& x) {
    using T = typename X::Scalar;
    using Values = Eigen::Array<T, Eigen::Dynamic, 1>;
    const Values halves = (x + T(1)) * T(0.5);
    return Values(InverseNormal(halves) * T(0.70710678118654752440));
  }
};

template <typename T>
struct DawsonOf {
  T operator()(T x) const { return Dawson(x); }
};
template <typename T>
struct ExpintOf {
  T operator()(T x) const { return ExponentialIntegral(x); }
};
template <typename T>
struct FresnelCosOf {
  T operator()(T x) const { return Fresnel<false>(x); }
};
template <typename T>
struct FresnelSinOf {
  T operator()(T x) const { return Fresnel<true>(x); }
};
template <typename T>
struct SpenceOf {
  T operator()(T x) const { return Spence(x); }
};

using BesselTypes = Types<Eigen::half, float, double>;

constexpr int64_t kBessel = 8000, kSlow = 20000;

}  // namespace

void RegisterSpecialUnaryKernels(KernelRegistry& r) {
  AddArrayUnary<I0, kBessel>(r, "BesselI0", BesselTypes());
  AddArrayUnary<I0e, kBessel>(r, "BesselI0e", BesselTypes());
  AddArrayUnary<I1, kBessel>(r, "BesselI1", BesselTypes());
  AddArrayUnary<I1e, kBessel>(r, "BesselI1e", BesselTypes());
  AddArrayUnary<J0, kBessel>(r, "BesselJ0", BesselTypes());
  AddArrayUnary<J1, kBessel>(r, "BesselJ1", BesselTypes());
  AddArrayUnary<K0, kBessel>(r, "BesselK0", BesselTypes());
  AddArrayUnary<K0e, kBessel>(r, "BesselK0e", BesselTypes());
  AddArrayUnary<K1, kBessel>(r, "BesselK1", BesselTypes());
  AddArrayUnary<K1e, kBessel>(r, "BesselK1e", BesselTypes());
  AddArrayUnary<Y0, kBessel>(r, "BesselY0", BesselTypes());
  AddArrayUnary<Y1, kBessel>(r, "BesselY1", BesselTypes());
  AddArrayUnary<Ndtri, kBessel>(r, "Ndtri", FullFloats());
  AddArrayUnary<Erfinv, kBessel>(r, "Erfinv", FullFloats());
  AddUnary<DawsonOf, kSlow>(r, "Dawsn", FullFloats());
  AddUnary<ExpintOf, kSlow>(r, "Expint", FullFloats());
  AddUnary<FresnelCosOf, kSlow>(r, "FresnelCos", FullFloats());
  AddUnary<FresnelSinOf, kSlow>(r, "FresnelSin", FullFloats());
  AddUnary<SpenceOf, kSlow>(r, "Spence", FullFloats());
}

}  // namespace tensorfleet::cpu
