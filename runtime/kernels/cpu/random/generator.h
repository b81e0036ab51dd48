// The sequence of random numbers of one node, by its attributes seed and seed2.
#pragma once

#include "runtime/base/mutex.h"
#include "runtime/base/random_id.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/philox.h"

namespace tensorfleet::cpu {

// Handed out in pieces. Thread-safe.
class Generator {
 public:
  explicit Generator(KernelInit& init) : next_(Seeded(init)) {}
  // A place from which `blocks` blocks are the caller's own.
  Philox Reserve(uint64_t blocks) const {
    MutexLock lock(&mu_);
    const Philox mine = next_;
    next_.Skip(blocks);
    return mine;
  }

 private:
  // Both seeds 0 ask for a different sequence every time.
  static Philox Seeded(KernelInit& init) {
    int64_t seed = 0, seed2 = 0;
    init.Get("seed", &seed);
    init.Get("seed2", &seed2);
    if (seed == 0 && seed2 == 0) {
      seed = static_cast<int64_t>(RandomNonZero64());
      seed2 = static_cast<int64_t>(RandomNonZero64());
    }
    return Philox::FromSeeds(seed, seed2);
  }

  mutable Mutex mu_;
  mutable Philox next_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::cpu
