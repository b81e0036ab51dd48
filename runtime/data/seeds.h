// Random numbers of data sets: TensorFlow's for the same seeds.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/kernels/philox.h"
#include "runtime/kernels/resource.h"

namespace tensorfleet::data {

struct Seeds {
  int64_t seed = 0;
  int64_t seed2 = 0;
  // Both 0 ask for another sequence every time.
  static Seeds OrRandom(int64_t seed, int64_t seed2);
};

// The 32-bit numbers of a pair of seeds, one by one.
class RandomWords {
 public:
  explicit RandomWords(Seeds seeds) : RandomWords(seeds, 0) {}
  // As if `taken` had been taken.
  RandomWords(Seeds seeds, int64_t taken);
  uint32_t Next() {
    ++taken_;
    return words_.Next();
  }
  const Seeds& seeds() const { return seeds_; }
  int64_t taken() const { return taken_; }

 private:
  Seeds seeds_;
  int64_t taken_;
  PhiloxWords words_;
};

// Gives each run of a data set its seeds: the same every time, or others. Thread-safe.
class SeedGenerator final : public Resource {
 public:
  SeedGenerator(Seeds seeds, bool varies) : varies_(varies), words_(seeds) {}
  std::string DebugString() const override { return "SeedGenerator"; }
  Seeds Next();
  // How many numbers have been taken; and, for a restored iterator, to go on from there.
  int64_t taken() const;
  void Restore(int64_t taken);

 private:
  const bool varies_;
  mutable Mutex mu_;
  RandomWords words_ ABSL_GUARDED_BY(mu_);
};
using SeedGeneratorRef = ResourceRef<SeedGenerator>;

}  // namespace tensorfleet::data
