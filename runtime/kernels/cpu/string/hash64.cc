#include "runtime/kernels/cpu/string/hash64.h"

#include <cstring>

namespace tensorfleet::cpu {
namespace {

uint64_t Load64(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// The last, incomplete word: little-endian, zeros above.
uint64_t LoadTail(absl::string_view bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    word |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  }
  return word;
}

uint64_t RotateLeft(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

struct SipState {
  uint64_t v0, v1, v2, v3;
  void Round() {
    v0 += v1;
    v2 += v3;
    v1 = RotateLeft(v1, 13) ^ v0;
    v3 = RotateLeft(v3, 16) ^ v2;
    v0 = RotateLeft(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = RotateLeft(v1, 17) ^ v2;
    v3 = RotateLeft(v3, 21) ^ v0;
    v2 = RotateLeft(v2, 32);
  }
  void Take(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

}  // namespace

uint64_t Hash64(absl::string_view bytes) {
  constexpr uint64_t kSeed = 0xDECAFCAFFE, kMultiplier = 0xc6a4a7935bd1e995;
  constexpr int kShift = 47;
  uint64_t h = kSeed ^ (bytes.size() * kMultiplier);
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t k = Load64(bytes.data()) * kMultiplier;
    k ^= k >> kShift;
    h ^= k * kMultiplier;
    h *= kMultiplier;
  }
  if (!bytes.empty()) h = (h ^ LoadTail(bytes)) * kMultiplier;
  h ^= h >> kShift;
  h *= kMultiplier;
  return h ^ h >> kShift;
}

uint64_t SipHash(const uint64_t (&key)[2], absl::string_view bytes) {
  SipState state = {0x736f6d6570736575 ^ key[0], 0x646f72616e646f6d ^ key[1],
                    0x6c7967656e657261 ^ key[0], 0x7465646279746573 ^ key[1]};
  const uint64_t length = static_cast<uint64_t>(bytes.size()) << 56;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) state.Take(Load64(bytes.data()));
  state.Take(length | LoadTail(bytes));
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace tensorfleet::cpu
