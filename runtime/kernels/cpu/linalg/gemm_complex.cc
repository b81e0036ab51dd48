#include <complex>

#include "runtime/kernels/cpu/linalg/gemm_eigen.h"

namespace tensorfleet::cpu {

template <>
void Gemm<std::complex<float>>(KernelContext* ctx, const GemmShape& shape,
                               const std::complex<float>* a, const std::complex<float>* b,
                               std::complex<float>* c) {
  EigenGemm<std::complex<float>>(ctx, shape, 1.0 / 10, a, b, c);
}
template <>
void Gemm<std::complex<double>>(KernelContext* ctx, const GemmShape& shape,
                                const std::complex<double>* a, const std::complex<double>* b,
                                std::complex<double>* c) {
  EigenGemm<std::complex<double>>(ctx, shape, 1.0 / 5, a, b, c);
}

}  // namespace tensorfleet::cpu
