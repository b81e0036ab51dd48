// The counter-based generator Philox4x32-10 (Salmon et al., 2011), which TensorFlow's random ops
// use: block i of a key is a pure function of (key, counter + i), so any part of a sequence can be
// made on its own.
#pragma once

#include <array>
#include <cstdint>

namespace tensorfleet {

// A place in the sequence of one key. Value type.
class Philox {
 public:
  using Block = std::array<uint32_t, 4>;

  Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high)
      : key_(key), low_(counter_low), high_(counter_high) {}
  // How stateful ops start: one seed is the key, the other the upper half of the counter.
  static Philox FromSeeds(int64_t seed, int64_t seed2) {
    return Philox(static_cast<uint64_t>(seed), 0, static_cast<uint64_t>(seed2));
  }

  uint64_t key() const { return key_; }
  uint64_t counter_low() const { return low_; }
  uint64_t counter_high() const { return high_; }

  void Skip(uint64_t blocks) {
    low_ += blocks;
    high_ += low_ < blocks;
  }
  Philox At(uint64_t blocks) const {
    Philox there = *this;
    there.Skip(blocks);
    return there;
  }

  Block Next();
  // The next `blocks` blocks, 4 words each.
  void Fill(int64_t blocks, uint32_t* words);

 private:
  uint64_t key_;
  uint64_t low_, high_;  // the counter
};

// The words of a sequence one by one.
class PhiloxWords {
 public:
  explicit PhiloxWords(Philox from) : philox_(from) {}
  uint32_t Next() {
    if (used_ == 4) {
      block_ = philox_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  int used_ = 4;
};

}  // namespace tensorfleet
