#include "runtime/execute/frame_id.h"

#include <cstring>

namespace tensorfleet::execute {
namespace {

uint64_t Combine(uint64_t a, uint64_t b) {
  return a ^ (b + 0x9e3779b97f4a7800u + (a << 10) + (a >> 4));
}

}  // namespace

uint64_t FrameNameHash(absl::string_view name) {
  constexpr uint64_t kSeed = 0xDECAFCAFFE;
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  constexpr int kShift = 47;
  const char* data = name.data();
  size_t left = name.size();
  uint64_t hash = kSeed ^ (left * kMultiplier);
  for (; left >= 8; left -= 8, data += 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    word *= kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash ^= word;
    hash *= kMultiplier;
  }
  if (left > 0) {
    uint64_t tail = 0;
    std::memcpy(&tail, data, left);
    hash ^= tail;
    hash *= kMultiplier;
  }
  hash ^= hash >> kShift;
  hash *= kMultiplier;
  hash ^= hash >> kShift;
  return hash;
}

uint64_t ChildFrameId(uint64_t parent_id, uint64_t parent_iteration, uint64_t name_hash) {
  return Combine(parent_id, Combine(parent_iteration, name_hash));
}

}  // namespace tensorfleet::execute
