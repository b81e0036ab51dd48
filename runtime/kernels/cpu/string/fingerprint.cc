#include "runtime/kernels/cpu/string/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace tensorfleet::cpu {
namespace {

// The constants of the published function.
constexpr uint64_t kA = 0xc3a5c85c97cb3127;
constexpr uint64_t kB = 0xb492b66fbe98f273;
constexpr uint64_t kC = 0x9ae16a3b2f90404f;

// Little-endian words at a place.
uint64_t Word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
uint64_t HalfWord(const char* at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

uint64_t Fold(uint64_t x) { return x ^ (x >> 47); }

uint64_t Combine(uint64_t u, uint64_t v, uint64_t by) {
  const uint64_t a = Fold((u ^ v) * by);
  return Fold((v ^ a) * by) * by;
}

uint64_t Short(const char* s, uint64_t n) {  // up to 16 bytes
  const uint64_t by = kC + n * 2;
  if (n >= 8) {
    const uint64_t a = Word(s) + kC;
    const uint64_t b = Word(s + n - 8);
    return Combine(std::rotr(b, 37) * by + a, (std::rotr(a, 25) + b) * by, by);
  }
  if (n >= 4) return Combine(n + (HalfWord(s) << 3), HalfWord(s + n - 4), by);
  if (n == 0) return kC;
  const auto byte = [&](uint64_t i) { return uint64_t{static_cast<unsigned char>(s[i])}; };
  const uint64_t y = byte(0) + (byte(n / 2) << 8);
  const uint64_t z = n + (byte(n - 1) << 2);
  return Fold((y * kC) ^ (z * kA)) * kC;
}

uint64_t Medium(const char* s, uint64_t n) {  // 17 to 32 bytes
  const uint64_t by = kC + n * 2;
  const uint64_t a = Word(s) * kB;
  const uint64_t b = Word(s + 8);
  const uint64_t c = Word(s + n - 8) * by;
  const uint64_t d = Word(s + n - 16) * kC;
  return Combine(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + kC, 18) + c, by);
}

uint64_t Long(const char* s, uint64_t n) {  // 33 to 64 bytes
  const uint64_t by = kC + n * 2;
  const uint64_t a = Word(s) * kC;
  const uint64_t b = Word(s + 8);
  const uint64_t c = Word(s + n - 8) * by;
  const uint64_t d = Word(s + n - 16) * kC;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = Combine(y, a + std::rotr(b + kC, 18) + c, by);
  const uint64_t e = Word(s + 16) * by;
  const uint64_t f = Word(s + 24);
  const uint64_t g = (y + Word(s + n - 32)) * by;
  const uint64_t h = (z + Word(s + n - 24)) * by;
  return Combine(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, by);
}

struct Pair {
  uint64_t first = 0;
  uint64_t second = 0;
};

// 32 bytes and two seeds into a pair.
Pair Absorb(const char* s, uint64_t a, uint64_t b) {
  a += Word(s);
  b = std::rotr(b + a + Word(s + 24), 21);
  const uint64_t c = a;
  a += Word(s + 8);
  a += Word(s + 16);
  b += std::rotr(a, 44);
  return {a + Word(s + 24), b + c};
}

// The running state over blocks of 64 bytes.
struct State {
  uint64_t x, y, z;
  Pair v, w;

  // `feedback` is 1, or 9 for the block that ends the text.
  void Absorb64(const char* s, uint64_t by, uint64_t feedback) {
    x = std::rotr(x + y + v.first + Word(s + 8), 37) * by;
    y = std::rotr(y + v.second + Word(s + 48), 42) * by;
    x ^= w.second * feedback;
    y += v.first * feedback + Word(s + 40);
    z = std::rotr(z + w.first, 33) * by;
    v = Absorb(s, v.second * by, x + w.first);
    w = Absorb(s + 32, z + w.second, y + Word(s + 16));
    std::swap(z, x);
  }
};

uint64_t Blocks(const char* s, uint64_t n) {  // more than 64 bytes
  constexpr uint64_t kSeed = 81;
  State state{};
  state.x = kSeed * kC + Word(s);
  state.y = kSeed * kB + 113;
  state.z = Fold(state.y * kC + 113) * kC;
  const uint64_t tail = (n - 1) & 63;
  const char* const end = s + (n - 1) / 64 * 64;
  for (const char* block = s; block != end; block += 64) state.Absorb64(block, kB, 1);
  const uint64_t by = kB + ((state.z & 0xff) << 1);
  state.w.first += tail;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.Absorb64(end + tail - 63, by, 9);
  return Combine(Combine(state.v.first, state.w.first, by) + Fold(state.y) * kA + state.z,
                 Combine(state.v.second, state.w.second, by) + state.x, by);
}

}  // namespace

uint64_t Fingerprint64(absl::string_view bytes) {
  const char* s = bytes.data();
  const uint64_t n = bytes.size();
  if (n <= 16) return Short(s, n);
  if (n <= 32) return Medium(s, n);
  if (n <= 64) return Long(s, n);
  return Blocks(s, n);
}

}  // namespace tensorfleet::cpu
