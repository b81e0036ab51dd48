#include "runtime/data/seeds.h"

#include "runtime/base/random_id.h"

namespace tensorfleet::data {
namespace {

PhiloxWords WordsFrom(const Seeds& seeds, int64_t taken) {
  PhiloxWords words(
      Philox::FromSeeds(seeds.seed, seeds.seed2).At(static_cast<uint64_t>(taken) / 4));
  for (int64_t i = 0; i < taken % 4; ++i) words.Next();
  return words;
}

}  // namespace

Seeds Seeds::OrRandom(int64_t seed, int64_t seed2) {
  if (seed == 0 && seed2 == 0) {
    seed = static_cast<int64_t>(RandomNonZero64());
    seed2 = static_cast<int64_t>(RandomNonZero64());
  }
  return {seed, seed2};
}

RandomWords::RandomWords(Seeds seeds, int64_t taken)
    : seeds_(seeds), taken_(taken), words_(WordsFrom(seeds, taken)) {}

Seeds SeedGenerator::Next() {
  MutexLock lock(&mu_);
  if (!varies_) return words_.seeds();
  const int64_t seed = words_.Next();
  const int64_t seed2 = words_.Next();
  return {seed, seed2};
}

int64_t SeedGenerator::taken() const {
  MutexLock lock(&mu_);
  return words_.taken();
}

void SeedGenerator::Restore(int64_t taken) {
  MutexLock lock(&mu_);
  words_ = RandomWords(words_.seeds(), taken);
}

}  // namespace tensorfleet::data
