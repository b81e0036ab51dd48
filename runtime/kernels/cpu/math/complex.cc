// Parts of complex numbers, and complex numbers of parts.
#include <cmath>
#include <complex>

#include "runtime/kernels/cpu/math/binary.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
struct Real {
  auto operator()(const T& x) const { return x.real(); }
};
template <typename T>
struct Imag {
  auto operator()(const T& x) const { return x.imag(); }
};
template <typename T>
struct Angle {
  auto operator()(const T& x) const { return std::arg(x); }
};
template <typename T>
struct ComplexAbs {
  auto operator()(const T& x) const { return std::abs(x); }
};
template <typename T>
struct Conj {
  T operator()(const T& x) const { return std::conj(x); }
};
template <typename T>
struct MakeComplex {
  std::complex<T> operator()(T real, T imag) const { return {real, imag}; }
};

template <template <typename> class F, typename T>
using PartKernel =
    UnaryKernelOf<&MapLoop<F, T>, kDTypeOf<T>, kDTypeOf<typename T::value_type>, 500>;

template <template <typename> class F>
void AddPart(KernelRegistry& r, absl::string_view op) {
  r.Add<PartKernel<F, std::complex<float>>>(op, kCpu,
                                            {{"T", DType::kComplex64}, {"Tout", DType::kFloat}});
  r.Add<PartKernel<F, std::complex<double>>>(op, kCpu,
                                             {{"T", DType::kComplex128}, {"Tout", DType::kDouble}});
}

}  // namespace

void RegisterComplexKernels(KernelRegistry& r) {
  AddPart<Real>(r, "Real");
  AddPart<Imag>(r, "Imag");
  AddPart<Angle>(r, "Angle");
  AddPart<ComplexAbs>(r, "ComplexAbs");
  AddUnary<Conj, 300>(r, "Conj", Complexes());
  r.Add<BinaryKernelOf<BinaryKernel, &MapBinary<MakeComplex, float>, DType::kFloat,
                       DType::kComplex64, 300>>(
      "Complex", kCpu, {{"T", DType::kFloat}, {"Tout", DType::kComplex64}});
  r.Add<BinaryKernelOf<BinaryKernel, &MapBinary<MakeComplex, double>, DType::kDouble,
                       DType::kComplex128, 300>>(
      "Complex", kCpu, {{"T", DType::kDouble}, {"Tout", DType::kComplex128}});
}

}  // namespace tensorfleet::cpu
