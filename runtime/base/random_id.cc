#include "runtime/base/random_id.h"

#include <random>

namespace tensorfleet {

uint64_t RandomNonZero64() {
  thread_local std::mt19937_64 generator = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  uint64_t value = 0;
  while (value == 0) value = generator();
  return value;
}

}  // namespace tensorfleet
