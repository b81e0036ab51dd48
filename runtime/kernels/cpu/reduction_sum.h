// Sums of neighbours, for the reducers that add.
#pragma once

#include <complex>
#include <cstdint>

#include <Eigen/Core>

#include "runtime/kernels/cpu/elementwise.h"

namespace tensorfleet::cpu {

template <typename T>
using ConstVectorMap = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

// The sum of static_cast<Acc>(in[i]); floating types a vector at a time, small ones in float.
template <typename Acc, typename T>
Acc SumOf(const T* in, int64_t n) {
  if constexpr (kIsSmallFloat<T>) {
    static_assert(std::is_same_v<Acc, float>);
    float block[kSmallFloatBlock];
    float sum = 0;
    for (int64_t begin = 0; begin < n; begin += kSmallFloatBlock) {
      const int64_t size = std::min(kSmallFloatBlock, n - begin);
      ToFloat(in + begin, block, size);
      sum += ConstVectorMap<float>(block, size).sum();
    }
    return sum;
  } else if constexpr (std::is_integral_v<Acc>) {
    using Wrap = std::make_unsigned_t<Acc>;
    Wrap sum = 0;
    for (int64_t i = 0; i < n; ++i) sum = static_cast<Wrap>(sum + static_cast<Wrap>(in[i]));
    return static_cast<Acc>(sum);
  } else {
    return ConstVectorMap<T>(in, n).sum();
  }
}

}  // namespace tensorfleet::cpu
