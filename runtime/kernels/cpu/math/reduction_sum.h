// Reducers (reduction.h) that add.
#pragma once

#include <complex>
#include <cstdint>

#include <Eigen/Core>

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/wrapping.h"

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

template <typename T, typename AccType>
struct Adding {
  using In = T;
  using Acc = AccType;
  static Acc Init() { return Acc(0); }
  static Acc Map(const T& x) { return static_cast<Acc>(x); }
  static Acc Combine(const Acc& a, const Acc& b) { return WrapAdd(a, b); }
  static Acc Contiguous(const T* in, int64_t n) { return SumOf<Acc>(in, n); }
  template <typename A>
  using Over = Adding<A, A>;
};

template <typename T>
struct Sum : Adding<T, Widened<T>> {
  static T Final(const Widened<T>& sum, int64_t) { return static_cast<T>(sum); }
};

}  // namespace tensorfleet::cpu
