// Element-wise kernels of two arguments that broadcast. As in elementwise.h, an op is a plain
// function over runs of memory; broadcasting is compiled once (binary.cc).
#pragma once

#include <cstdint>

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {

// Steps of 0 keep to the first element. Returns null, or the text of an InvalidArgument error.
using BinaryLoop = const char* (*)(const void* a, const void* b, void* out, int64_t n, int a_step,
                                   int b_step);

class BinaryKernel : public Kernel {
 public:
  BinaryKernel(BinaryLoop loop, DType in_type, DType out_type, int64_t ns_per_kilo)
      : loop_(loop),
        out_type_(out_type),
        in_size_(ElementSize(in_type)),
        out_size_(ElementSize(out_type)),
        ns_per_kilo_(ns_per_kilo) {}
  Status Compute(KernelContext& ctx) const override;

 private:
  Status ComputeBroadcast(KernelContext& ctx, const Tensor& a, const Tensor& b) const;
  Status RunOver(KernelContext& ctx, const Tensor& a, const Tensor& b, Tensor out, int a_step,
                 int b_step) const;
  // Memory for the result, an input's own where it fits.
  StatusOr<Tensor> Output(KernelContext& ctx, const Tensor& a, const Tensor& b,
                          const Shape& shape) const;

  const BinaryLoop loop_;
  const DType out_type_;
  const size_t in_size_, out_size_;
  const int64_t ns_per_kilo_;
};

// Two arguments of exactly one shape, as gradient ops have them.
class SameShapeKernel : public BinaryKernel {
 public:
  using BinaryKernel::BinaryKernel;
  Status Compute(KernelContext& ctx) const final;
};

template <template <typename> class F, typename T, typename Out>
inline void RunBinary(const T* a, const T* b, Out* out, int64_t n, int a_step, int b_step) {
  const F<T> f{};
  if (a_step == 1 && b_step == 1) {
    TFLEET_VECTORIZE
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (a_step == 1) {
    const T second = b[0];
    TFLEET_VECTORIZE
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], second);
  } else if (b_step == 1) {
    const T first = a[0];
    TFLEET_VECTORIZE
    for (int64_t i = 0; i < n; ++i) out[i] = f(first, b[i]);
  } else {
    std::fill(out, out + n, f(a[0], b[0]));
  }
}

// F<T>()(a, b) is the result; a static F<T>::Check(a, b, number of a's, number of b's), where there
// is one, may refuse the arguments first with an error text.
template <template <typename> class F, typename T>
const char* MapBinary(const void* a_raw, const void* b_raw, void* out_raw, int64_t n, int a_step,
                      int b_step) {
  const T* a = static_cast<const T*>(a_raw);
  const T* b = static_cast<const T*>(b_raw);
  if constexpr (kIsSmallFloat<T>) {
    using Out = decltype(F<float>()(0.0f, 0.0f));
    float a_block[kSmallFloatBlock], b_block[kSmallFloatBlock];
    if (a_step == 0) ToFloat(a, a_block, 1);
    if (b_step == 0) ToFloat(b, b_block, 1);
    for (int64_t begin = 0; begin < n; begin += kSmallFloatBlock) {
      const int64_t size = std::min(kSmallFloatBlock, n - begin);
      if (a_step == 1) ToFloat(a + begin, a_block, size);
      if (b_step == 1) ToFloat(b + begin, b_block, size);
      if constexpr (std::is_same_v<Out, bool>) {
        RunBinary<F, float>(a_block, b_block, static_cast<bool*>(out_raw) + begin, size, a_step,
                            b_step);
      } else {
        float results[kSmallFloatBlock];
        RunBinary<F, float>(a_block, b_block, results, size, a_step, b_step);
        FromFloat(results, static_cast<T*>(out_raw) + begin, size);
      }
    }
  } else {
    using Out = std::decay_t<decltype(F<T>()(*a, *b))>;
    if constexpr (requires { F<T>::Check(a, b, n, n); }) {
      if (const char* error = F<T>::Check(a, b, a_step == 0 ? 1 : n, b_step == 0 ? 1 : n))
        return error;
    }
    RunBinary<F, T>(a, b, static_cast<Out*>(out_raw), n, a_step, b_step);
  }
  return nullptr;
}

template <typename Base, BinaryLoop loop, DType in_type, DType out_type, int64_t ns_per_kilo>
class BinaryKernelOf final : public Base {
 public:
  BinaryKernelOf() : Base(loop, in_type, out_type, ns_per_kilo) {}
};

template <template <typename> class F, typename T>
inline constexpr DType kBinaryResult =
    std::is_same_v<
        decltype(F<Widened<T>>()(std::declval<Widened<T>>(), std::declval<Widened<T>>())), bool>
        ? DType::kBool
        : kDTypeOf<T>;

template <template <typename> class F, int64_t ns_per_kilo, typename... Ts>
void AddBinary(KernelRegistry& registry, absl::string_view op, Types<Ts...>) {
  (registry.Add<BinaryKernelOf<BinaryKernel, &MapBinary<F, Ts>, kDTypeOf<Ts>, kBinaryResult<F, Ts>,
                               ns_per_kilo>>(op, kCpu, {{"T", kDTypeOf<Ts>}}),
   ...);
}
template <template <typename> class F, int64_t ns_per_kilo, typename... Ts>
void AddSameShape(KernelRegistry& registry, absl::string_view op, Types<Ts...>) {
  (registry.Add<BinaryKernelOf<SameShapeKernel, &MapBinary<F, Ts>, kDTypeOf<Ts>,
                               kBinaryResult<F, Ts>, ns_per_kilo>>(op, kCpu, {{"T", kDTypeOf<Ts>}}),
   ...);
}

// The loop that adds, null for types without addition.
BinaryLoop FindAdd(DType type);

}  // namespace tensorfleet::cpu
