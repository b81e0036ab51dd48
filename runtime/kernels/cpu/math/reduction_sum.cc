// Sum, Mean and EuclideanNorm.
#include <cmath>
#include <complex>

#include "runtime/kernels/cpu/math/binary.h"
#include "runtime/kernels/cpu/math/reduction.h"
#include "runtime/kernels/cpu/math/reduction_sum.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

// Integers are added up in 64 bits and truncate when divided.
template <typename T>
using MeanAcc =
    std::conditional_t<std::is_integral_v<T>,
                       std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>, Widened<T>>;
template <typename T>
struct Mean : Adding<T, MeanAcc<T>> {
  static T Final(const MeanAcc<T>& sum, int64_t count) {
    if constexpr (std::is_integral_v<T>) {
      return count == 0 ? T(0) : static_cast<T>(sum / static_cast<MeanAcc<T>>(count));
    } else if constexpr (Eigen::NumTraits<T>::IsComplex) {
      // As TensorFlow: a mean of nothing is NaN only for real numbers.
      return count == 0 ? T(0) : sum / static_cast<typename T::value_type>(count);
    } else {
      return static_cast<T>(sum / static_cast<MeanAcc<T>>(count));
    }
  }
};

template <typename T>
struct EuclideanNorm : Adding<T, MeanAcc<T>> {
  using Acc = MeanAcc<T>;
  static Acc Map(const T& x) {
    if constexpr (Eigen::NumTraits<T>::IsComplex) {
      return x * std::conj(x);
    } else {
      const Acc wide = static_cast<Acc>(x);
      return WrapMul(wide, wide);
    }
  }
  static Acc Contiguous(const T* in, int64_t n) {
    Acc sum = Acc(0);
    for (int64_t i = 0; i < n; ++i) sum = WrapAdd(sum, Map(in[i]));
    return sum;
  }
  static T Final(const Acc& sum, int64_t) {
    if constexpr (std::is_integral_v<T>)
      // By way of an integer that holds any root: the norm of the lowest number is beyond its type.
      return static_cast<T>(static_cast<int64_t>(std::sqrt(static_cast<double>(sum))));
    else
      return static_cast<T>(std::sqrt(sum));
  }
};

}  // namespace

void RegisterSumKernels(KernelRegistry& r) {
  AddReduction<Sum>(r, "Sum", Numbers());
  AddReduction<Mean>(r, "Mean", Numbers());
  AddReduction<EuclideanNorm>(r, "EuclideanNorm", Numbers());
}

}  // namespace tensorfleet::cpu
