// Element-wise kernels. What differs from op to op is a loop over contiguous memory, a plain
// function; the kernel around it (elementwise.cc) is compiled once for all ops and types.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/cpu/small_float.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

// Input and output of an element-wise loop are the same memory or apart, never shifted against each
// other: the compiler need not check before it vectorises.
#if defined(__clang__)
#define TFLEET_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define TFLEET_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace tensorfleet::cpu {

// Loops up to this many elements run where they are, without a thought of threads.
inline constexpr int64_t kInlineElements = 4096;

using UnaryLoop = void (*)(const void* in, void* out, int64_t n);

// `ns_per_kilo` is the rough cost of 1024 elements in nanoseconds.
class UnaryKernel : public Kernel {
 public:
  UnaryKernel(UnaryLoop loop, DType in_type, DType out_type, int64_t ns_per_kilo)
      : loop_(loop),
        out_type_(out_type),
        in_size_(ElementSize(in_type)),
        out_size_(ElementSize(out_type)),
        ns_per_kilo_(ns_per_kilo) {}
  Status Compute(KernelContext& ctx) const final;

 private:
  const UnaryLoop loop_;
  const DType out_type_;
  const size_t in_size_, out_size_;
  const int64_t ns_per_kilo_;
};

// Runs body(begin, end) over [0, n) elements: at once when there are few, else on the device's
// threads.
template <typename Body>
void ForElements(KernelContext& ctx, int64_t n, int64_t ns_per_kilo, const Body& body) {
  if (n <= kInlineElements) {
    body(0, n);
    return;
  }
  const int64_t blocks = (n + 1023) / 1024;
  ParallelFor(ctx, blocks, ns_per_kilo,
              [&](int64_t begin, int64_t end) { body(begin * 1024, std::min(end * 1024, n)); });
}

// F is a functor template: Out F<T>::operator()(T) on one element, for T any full-size type. Half
// and bfloat16 are computed in float, block by block, and rounded once.
template <template <typename> class F, typename T>
void MapLoop(const void* in, void* out, int64_t n) {
  const T* x = static_cast<const T*>(in);
  if constexpr (kIsSmallFloat<T>) {
    using Out = decltype(F<float>()(0.0f));
    float block[kSmallFloatBlock];
    for (int64_t begin = 0; begin < n; begin += kSmallFloatBlock) {
      const int64_t size = std::min(kSmallFloatBlock, n - begin);
      ToFloat(x + begin, block, size);
      if constexpr (std::is_same_v<Out, float>) {
        TFLEET_VECTORIZE
        for (int64_t i = 0; i < size; ++i) block[i] = F<float>()(block[i]);
        FromFloat(block, static_cast<T*>(out) + begin, size);
      } else {
        for (int64_t i = 0; i < size; ++i) static_cast<Out*>(out)[begin + i] = F<float>()(block[i]);
      }
    }
  } else {
    using Out = decltype(F<T>()(T()));
    Out* y = static_cast<Out*>(out);
    TFLEET_VECTORIZE
    for (int64_t i = 0; i < n; ++i) y[i] = F<T>()(x[i]);
  }
}

template <UnaryLoop loop, DType in_type, DType out_type, int64_t ns_per_kilo>
class UnaryKernelOf final : public UnaryKernel {
 public:
  UnaryKernelOf() : UnaryKernel(loop, in_type, out_type, ns_per_kilo) {}
};

// Adds a kernel for every type of the list, whose result has the type of its argument or, for
// functors with a bool result, bool.
template <template <typename> class F, int64_t ns_per_kilo, typename... Ts>
void AddUnary(KernelRegistry& registry, absl::string_view op, Types<Ts...>) {
  (registry.Add<
       UnaryKernelOf<&MapLoop<F, Ts>, kDTypeOf<Ts>,
                     std::is_same_v<decltype(F<Widened<Ts>>()(Widened<Ts>())), bool> ? DType::kBool
                                                                                     : kDTypeOf<Ts>,
                     ns_per_kilo>>(op, kCpu, {{"T", kDTypeOf<Ts>}}),
   ...);
}

}  // namespace tensorfleet::cpu
