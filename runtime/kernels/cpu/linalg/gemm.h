// Products of dense row-major matrices.
#pragma once

#include <cstdint>

namespace tensorfleet {
class KernelContext;
}

namespace tensorfleet::cpu {

struct GemmShape {
  bool transpose_a = false;  // a is [k, m] instead of [m, k]
  bool transpose_b = false;  // b is [n, k] instead of [k, n]
  int64_t m = 0, n = 0, k = 0;
  // For complex numbers: the factor is conjugated.
  bool conjugate_a = false, conjugate_b = false;
};

// c[m, n] = op(a) op(b). On the calling thread alone when `ctx` is null, else on the device's
// threads where that pays. T: float, double, int16 to int64, complex. A product over k = 0 is zero.
// `c` overlaps neither factor.
template <typename T>
void Gemm(KernelContext* ctx, const GemmShape& shape, const T* a, const T* b, T* c);

}  // namespace tensorfleet::cpu
