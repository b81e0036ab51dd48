#include "runtime/tensor/block_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace tensorfleet {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(BlockCache, GivesAFreedBlockToTheNextThatAsksForAboutAsMuch) {
  BlockCache cache;
  void* const first = cache.Allocate(kMiB + 64);
  cache.Free(first, kMiB + 64);
  EXPECT_GT(cache.kept_bytes(), kMiB);
  void* const second = cache.Allocate(kMiB + 1000);
  EXPECT_EQ(second, first);
  EXPECT_EQ(cache.kept_bytes(), 0u);
  cache.Free(second, kMiB + 1000);
}

TEST(BlockCache, BlocksHoldWhatWasAskedForAtEverySize) {
  BlockCache cache;
  for (size_t bytes = BlockCache::kMinBytes; bytes < 64 * kMiB; bytes += bytes / 3 + 1) {
    void* const block = cache.Allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0u) << bytes;
    std::memset(block, 1, bytes);
    cache.Free(block, bytes);
  }
}

TEST(BlockCache, NeverHoldsMoreThanWasInUseAtOnce) {
  BlockCache cache;
  // In turn, not at once: each could be kept by itself.
  for (size_t size = 40 * kMiB; size <= 80 * kMiB; size += 10 * kMiB) {
    cache.Free(cache.Allocate(size), size);
    EXPECT_LE(cache.kept_bytes(), size + size / 8);
  }
  // What is in use leaves less to be kept.
  void* const large = cache.Allocate(70 * kMiB);
  EXPECT_LE(cache.kept_bytes(), 20 * kMiB);
  cache.Free(large, 70 * kMiB);
}

TEST(BlockCache, ReleasesOnlyWhatWasFreedBefore) {
  BlockCache cache;
  cache.Free(cache.Allocate(kMiB), kMiB);
  const auto between = std::chrono::steady_clock::now();
  cache.Free(cache.Allocate(3 * kMiB), 3 * kMiB);
  cache.ReleaseFreedBefore(between);
  EXPECT_EQ(cache.kept_bytes(), 3 * kMiB);
  cache.ReleaseFreedBefore(BlockCache::TimePoint::max());
  EXPECT_EQ(cache.kept_bytes(), 0u);
}

TEST(BlockCache, AnswersNullWhenTheSystemHasNoMore) {
  BlockCache cache;
  EXPECT_EQ(cache.Allocate(size_t{1} << 60), nullptr);
  void* const block = cache.Allocate(kMiB);  // still serves
  EXPECT_NE(block, nullptr);
  cache.Free(block, kMiB);
}

TEST(BlockCache, ServesManyThreads) {
  BlockCache cache;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 200; ++i) {
        const size_t size = BlockCache::kMinBytes << (i % 5);
        auto* const block = static_cast<char*>(cache.Allocate(size));
        block[0] = static_cast<char>(t);
        block[size - 1] = static_cast<char>(t);
        EXPECT_EQ(block[0], t);
        cache.Free(block, size);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tensorfleet
