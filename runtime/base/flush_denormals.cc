#include "runtime/base/flush_denormals.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif !defined(__aarch64__)
#error "flush_denormals.cc: how this processor flushes denormals is not known"
#endif

namespace tensorfleet {
namespace {

#if defined(__SSE2__)

constexpr uint64_t kFlush = 0x8040;  // MXCSR: flush to zero, denormals are zeros
uint64_t Mode() { return _mm_getcsr(); }
void SetMode(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }

#else

constexpr uint64_t kFlush = uint64_t{1} << 24;  // FPCR.FZ
uint64_t Mode() {
  uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void SetMode(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }

#endif

}  // namespace

ScopedFlushDenormals::ScopedFlushDenormals() : before_(Mode()) {
  if ((before_ & kFlush) != kFlush) SetMode(before_ | kFlush);
}

ScopedFlushDenormals::~ScopedFlushDenormals() {
  if ((before_ & kFlush) != kFlush) SetMode(before_);
}

}  // namespace tensorfleet
