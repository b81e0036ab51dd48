// Randomness that is the same on every machine: one generator per execution, made from the run's
// seed and the execution's number, so that any one of them can be replayed alone.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "absl/types/span.h"

namespace tensorfleet::opfuzz {

class Random {
 public:
  Random(uint64_t seed, uint64_t number)
      : state_(seed * 0x9E3779B97F4A7C15u ^ (number + 1) * 0xD1B54A32D192ED03u) {}

  uint64_t Bits() {  // splitmix64
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // In [0, n); 0 for n < 1.
  int64_t Below(int64_t n) { return n < 1 ? 0 : static_cast<int64_t>(Bits() % n); }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }  // inclusive
  bool Percent(int p) { return Below(100) < p; }
  double Unit() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }  // [0, 1)
  double Real(double low, double high) { return low + Unit() * (high - low); }

  template <typename T>
  const T& Pick(absl::Span<const T> from) {
    return from[Below(from.size())];
  }
  template <typename C>
  auto& Pick(const C& from) {
    return from[Below(from.size())];
  }
  template <typename T>
  T Pick(std::initializer_list<T> from) {
    return from.begin()[Below(from.size())];
  }

 private:
  uint64_t state_;
};

// How far from what a program would do: what usually fits, or what nobody would write.
enum class Manner { kUsual, kHostile };

}  // namespace tensorfleet::opfuzz
