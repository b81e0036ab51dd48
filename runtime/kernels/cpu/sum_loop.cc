#include "runtime/kernels/cpu/sum_loop.h"

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

template <typename T, bool kSubtract>
void Loop(const void* old, const void* value, void* out, int64_t n) {
  const T* a = static_cast<const T*>(old);
  const T* b = static_cast<const T*>(value);
  T* to = static_cast<T*>(out);
  TFLEET_VECTORIZE
  for (int64_t i = 0; i < n; ++i) {
    to[i] = kSubtract ? WrapSub(a[i], b[i]) : WrapAdd(a[i], b[i]);
  }
}

}  // namespace

SumLoopFn SumLoop(DType dtype, bool subtract) {
  SumLoopFn loop = nullptr;
  ForEachType(Numbers(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kDTypeOf<T> == dtype) loop = subtract ? &Loop<T, true> : &Loop<T, false>;
  });
  return loop;
}

void RunSumLoop(const KernelContext& ctx, SumLoopFn loop, const void* old, const void* value,
                void* out, int64_t n, DType dtype) {
  if (n <= kInlineElements) return loop(old, value, out, n);
  const size_t size = ElementSize(dtype);
  constexpr int64_t kBlock = 1024, kNanosPerBlock = 200;
  ParallelForWhole(ctx, (n + kBlock - 1) / kBlock, kNanosPerBlock, [&](int64_t begin, int64_t end) {
    const size_t offset = begin * kBlock * size;
    loop(static_cast<const char*>(old) + offset, static_cast<const char*>(value) + offset,
         static_cast<char*>(out) + offset, std::min(end * kBlock, n) - begin * kBlock);
  });
}

}  // namespace tensorfleet::cpu
