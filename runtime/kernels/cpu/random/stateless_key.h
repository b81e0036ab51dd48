// Where the sequence of a stateless random op begins.
#pragma once

#include "runtime/kernels/kernel_context.h"
#include "runtime/kernels/philox.h"

namespace tensorfleet::cpu {

// TensorFlow's numbers of algorithms.
inline constexpr int64_t kPhilox = 1;
inline constexpr int64_t kAuto = 3;

struct KeyAndCounter {
  uint64_t key;
  uint64_t counter[2];
  Philox Start() const { return Philox(key, counter[0], counter[1]); }
};

// Spreads a pair of seeds over key and counter, so that neighbouring seeds give unrelated
// sequences. Errors: InvalidArgument unless it is a pair.
StatusOr<KeyAndCounter> Scramble(const Tensor& seed);

// Reads inputs key, counter and alg, which stand at `first` and after. Errors: InvalidArgument.
StatusOr<Philox> ReadGenerator(const KernelContext& ctx, int first);

}  // namespace tensorfleet::cpu
