#include "runtime/kernels/philox.h"

namespace tensorfleet {
namespace {

constexpr uint32_t kMultiplierA = 0xD2511F53;
constexpr uint32_t kMultiplierB = 0xCD9E8D57;
constexpr uint32_t kBumpA = 0x9E3779B9;
constexpr uint32_t kBumpB = 0xBB67AE85;
constexpr int kRounds = 10;

// So many blocks are made side by side: the compiler turns the inner loops into vector
// instructions.
constexpr int kLanes = 8;

struct Lanes {
  uint32_t w[4][kLanes];
};

void Mix(uint64_t key, Lanes& x) {
  uint32_t key_a = static_cast<uint32_t>(key);
  uint32_t key_b = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t a = uint64_t{kMultiplierA} * x.w[0][i];
      const uint64_t b = uint64_t{kMultiplierB} * x.w[2][i];
      const uint32_t w0 = static_cast<uint32_t>(b >> 32) ^ x.w[1][i] ^ key_a;
      const uint32_t w2 = static_cast<uint32_t>(a >> 32) ^ x.w[3][i] ^ key_b;
      x.w[0][i] = w0;
      x.w[1][i] = static_cast<uint32_t>(b);
      x.w[2][i] = w2;
      x.w[3][i] = static_cast<uint32_t>(a);
    }
    key_a += kBumpA;
    key_b += kBumpB;
  }
}

}  // namespace

Philox::Block Philox::Next() {
  uint32_t key_a = static_cast<uint32_t>(key_);
  uint32_t key_b = static_cast<uint32_t>(key_ >> 32);
  Block x = {static_cast<uint32_t>(low_), static_cast<uint32_t>(low_ >> 32),
             static_cast<uint32_t>(high_), static_cast<uint32_t>(high_ >> 32)};
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = uint64_t{kMultiplierA} * x[0];
    const uint64_t b = uint64_t{kMultiplierB} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key_a, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ key_b, static_cast<uint32_t>(a)};
    key_a += kBumpA;
    key_b += kBumpB;
  }
  Skip(1);
  return x;
}

void Philox::Fill(int64_t blocks, uint32_t* words) {
  for (; blocks >= kLanes; blocks -= kLanes, words += 4 * kLanes) {
    Lanes x;
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t low = low_ + i;
      const uint64_t high = high_ + (low < low_);
      x.w[0][i] = static_cast<uint32_t>(low);
      x.w[1][i] = static_cast<uint32_t>(low >> 32);
      x.w[2][i] = static_cast<uint32_t>(high);
      x.w[3][i] = static_cast<uint32_t>(high >> 32);
    }
    Mix(key_, x);
    for (int i = 0; i < kLanes; ++i) {
      for (int w = 0; w < 4; ++w) words[4 * i + w] = x.w[w][i];
    }
    Skip(kLanes);
  }
  for (; blocks > 0; --blocks, words += 4) {
    const Block block = Next();
    for (int w = 0; w < 4; ++w) words[w] = block[w];
  }
}

}  // namespace tensorfleet
