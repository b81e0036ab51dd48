#include "runtime/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>

namespace tensorfleet {
namespace {

TEST(ThreadPool, RunsEverythingScheduledBeforeItsEnd) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool("test", 3);
    for (int i = 0; i < 1000; ++i) pool.Schedule([&] { ++ran; });
  }
  EXPECT_EQ(ran, 1000);
}

TEST(ThreadPool, ParallelForCoversEveryIndexOnce) {
  ThreadPool pool("test", 3);
  std::vector<std::atomic<int>> seen(10'007);
  pool.ParallelFor(seen.size(), /*cost_per_unit=*/10'000, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[i];
  });
  for (const auto& count : seen) ASSERT_EQ(count, 1);
}

TEST(ThreadPool, ParallelForDoesNotWaitForBusyThreads) {
  Notification release;  // outlives the pool, whose thread waits for it
  ThreadPool pool("test", 1);
  pool.Schedule([&] { release.Wait(); });
  std::atomic<int64_t> sum{0};
  pool.ParallelFor(100, /*cost_per_unit=*/1'000'000,
                   [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
  release.Notify();
}

TEST(ThreadPool, ParallelForNestsInsidePoolThreads) {
  ThreadPool pool("test", 2);
  std::atomic<int64_t> sum{0};
  pool.ParallelFor(8, 1'000'000, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      pool.ParallelFor(8, 1'000'000, [&](int64_t b, int64_t e) { sum += e - b; });
    }
  });
  EXPECT_EQ(sum, 64);
}

}  // namespace
}  // namespace tensorfleet
