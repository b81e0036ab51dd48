// Floating-point arithmetic as TensorFlow's kernels do it: denormal inputs count as zero and
// denormal results become zero. Processors take tens of times as long over denormals, and results
// would differ.
#pragma once

#include <cstdint>

namespace tensorfleet {

// The calling thread's mode, from construction to destruction.
class ScopedFlushDenormals {
 public:
  ScopedFlushDenormals();
  ~ScopedFlushDenormals();
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;
  ScopedFlushDenormals& operator=(const ScopedFlushDenormals&) = delete;

 private:
  const uint64_t before_;  // the processor's control register
};

}  // namespace tensorfleet
