// Element-wise loops through Eigen's array expressions, for functions that Eigen computes a vector
// at a time. Heavier to compile than elementwise.h: for float and double only, and half and
// bfloat16 through float.
#pragma once

#include <Eigen/Core>

#include "runtime/kernels/cpu/elementwise.h"

namespace tensorfleet::cpu {

template <typename T>
using ArrayMap = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <typename T>
using ConstArrayMap = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

// F::Apply(array expression) gives the array expression of the result.
template <typename F, typename T>
void ArrayLoop(const void* in, void* out, int64_t n) {
  if constexpr (kIsSmallFloat<T>) {
    float block[kSmallFloatBlock];
    for (int64_t begin = 0; begin < n; begin += kSmallFloatBlock) {
      const int64_t size = std::min(kSmallFloatBlock, n - begin);
      ToFloat(static_cast<const T*>(in) + begin, block, size);
      ArrayLoop<F, float>(block, block, size);
      FromFloat(block, static_cast<T*>(out) + begin, size);
    }
  } else {
    const ConstArrayMap<T> x(static_cast<const T*>(in), n);
    ArrayMap<T>(static_cast<T*>(out), n) = F::Apply(x);
  }
}

template <typename F, int64_t ns_per_kilo, typename... Ts>
void AddArrayUnary(KernelRegistry& registry, absl::string_view op, Types<Ts...>) {
  (registry.Add<UnaryKernelOf<&ArrayLoop<F, Ts>, kDTypeOf<Ts>, kDTypeOf<Ts>, ns_per_kilo>>(
       op, kCpu, {{"T", kDTypeOf<Ts>}}),
   ...);
}
template <typename F, int64_t ns_per_kilo>
void AddArrayUnary(KernelRegistry& registry, absl::string_view op) {
  AddArrayUnary<F, ns_per_kilo>(registry, op, Floats());
}

}  // namespace tensorfleet::cpu
