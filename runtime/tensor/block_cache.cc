#include "runtime/tensor/block_cache.h"

#include <sys/mman.h>

#include <algorithm>

namespace tensorfleet {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Eight sizes to a doubling, so that tensors of about the same size share blocks at the cost of an
// eighth at most.
size_t BlockBytes(size_t bytes) {
  size_t power = BlockCache::kMinBytes;
  while (power <= bytes / 2) power *= 2;
  return RoundUp(bytes, std::max(power / 8, kPage));
}

void* Map(size_t bytes) {
  const bool is_huge = bytes >= kHugePage;
  const size_t mapped = is_huge ? bytes + kHugePage : bytes;
  void* const start =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  if (!is_huge) return start;
  // Aligned, so that every huge page can be one.
  char* const first = static_cast<char*>(start);
  const size_t before =
      RoundUp(reinterpret_cast<uintptr_t>(first), kHugePage) - reinterpret_cast<uintptr_t>(first);
  if (before > 0) ::munmap(first, before);
  if (before < kHugePage) ::munmap(first + before + bytes, kHugePage - before);
  // Where the system has none, small pages do.
  ::madvise(first + before, bytes, MADV_HUGEPAGE);
  return first + before;
}

}  // namespace

BlockCache& BlockCache::Process() {
  static BlockCache* const cache = new BlockCache;  // outlives the last tensor
  return *cache;
}

BlockCache::~BlockCache() { ReleaseFreedBefore(TimePoint::max()); }

void* BlockCache::Allocate(size_t bytes) {
  const size_t size = BlockBytes(bytes);
  void* block = nullptr;
  std::vector<Span> surplus;
  {
    MutexLock lock(&mu_);
    used_bytes_ += size;
    most_used_ = std::max(most_used_, used_bytes_);
    const auto it = kept_.find(size);
    if (it != kept_.end()) {
      block = it->second.back().block;
      it->second.pop_back();
      if (it->second.empty()) kept_.erase(it);
      kept_bytes_ -= size;
    } else {
      TakeOldest(MayKeep(), &surplus);
    }
  }
  for (const Span& span : surplus) ::munmap(span.block, span.bytes);
  if (block == nullptr) block = Map(size);
  if (block == nullptr) {
    // Perhaps what is kept is in the way.
    ReleaseFreedBefore(TimePoint::max());
    block = Map(size);
  }
  if (block == nullptr) {
    MutexLock lock(&mu_);
    used_bytes_ -= size;
  }
  return block;
}

void BlockCache::Free(void* block, size_t bytes) {
  const size_t size = BlockBytes(bytes);
  std::vector<Span> surplus;
  {
    MutexLock lock(&mu_);
    used_bytes_ -= size;
    kept_[size].push_back({block, std::chrono::steady_clock::now()});
    kept_bytes_ += size;
    TakeOldest(MayKeep(), &surplus);
  }
  for (const Span& span : surplus) ::munmap(span.block, span.bytes);
}

size_t BlockCache::MayKeep() const {
  const size_t bound = std::max(most_used_, kAllowance);
  return bound > used_bytes_ ? bound - used_bytes_ : 0;
}

void BlockCache::TakeOldest(size_t bytes_to_leave, std::vector<Span>* out) {
  while (kept_bytes_ > bytes_to_leave) {
    const auto oldest =
        std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
          return a.second.front().freed_at < b.second.front().freed_at;
        });
    out->push_back({oldest->second.front().block, oldest->first});
    kept_bytes_ -= oldest->first;
    oldest->second.erase(oldest->second.begin());
    if (oldest->second.empty()) kept_.erase(oldest);
  }
}

void BlockCache::ReleaseFreedBefore(TimePoint then) {
  std::vector<Span> released;
  {
    MutexLock lock(&mu_);
    for (auto it = kept_.begin(); it != kept_.end();) {
      std::vector<Kept>& blocks = it->second;
      const auto newer = std::find_if(blocks.begin(), blocks.end(),
                                      [&](const Kept& kept) { return kept.freed_at >= then; });
      for (auto old = blocks.begin(); old != newer; ++old) {
        released.push_back({old->block, it->first});
        kept_bytes_ -= it->first;
      }
      blocks.erase(blocks.begin(), newer);
      it = blocks.empty() ? kept_.erase(it) : std::next(it);
    }
    most_used_ = used_bytes_ + kept_bytes_;
  }
  for (const Span& span : released) ::munmap(span.block, span.bytes);
}

size_t BlockCache::kept_bytes() const {
  MutexLock lock(&mu_);
  return kept_bytes_;
}

}  // namespace tensorfleet
