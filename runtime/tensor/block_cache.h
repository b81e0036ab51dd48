// Large blocks of memory, kept for a while after they are freed. A fresh block of the system's
// costs a page fault for every 4 KiB that is touched, more than copying as many bytes; a step that
// moves large tensors would pay that again and again. Blocks of 2 MiB and more ask for huge pages.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <vector>

#include "runtime/base/mutex.h"

namespace tensorfleet {

class BlockCache {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Smaller blocks are malloc's business.
  static constexpr size_t kMinBytes = size_t{64} << 10;
  // What may be kept however little was ever in use.
  static constexpr size_t kAllowance = size_t{32} << 20;

  BlockCache() = default;
  // Blocks in use are not given back.
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // The cache under all host tensors of the process.
  static BlockCache& Process();

  // At least `bytes`, at an address that is a multiple of 4096; the content is undefined. Null when
  // the system has no more. `bytes` must be at least kMinBytes.
  void* Allocate(size_t bytes);
  // `bytes` as given to Allocate.
  void Free(void* block, size_t bytes);

  // Gives blocks that were freed before `then` back to the system, and forgets how much was in use
  // before: to be called now and then.
  void ReleaseFreedBefore(TimePoint then);

  // Kept for later, in bytes. With what is in use it never exceeds what was in use at once since
  // the last release, or kAllowance.
  size_t kept_bytes() const;

 private:
  struct Kept {
    void* block;
    TimePoint freed_at;
  };
  struct Span {
    void* block;
    size_t bytes;
  };
  // Takes the oldest blocks until so much is left, for the caller to unmap outside the lock.
  void TakeOldest(size_t bytes_to_leave, std::vector<Span>* out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t MayKeep() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  std::map<size_t, std::vector<Kept>> kept_ ABSL_GUARDED_BY(mu_);  // by size; newest last
  size_t kept_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  size_t used_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  size_t most_used_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet
