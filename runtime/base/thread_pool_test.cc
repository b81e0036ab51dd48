#include "runtime/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <new>

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

TEST(ThreadPool, ItsThreadsFlushDenormalsAndOthersDoNot) {
  volatile float least = std::numeric_limits<float>::min();
  float in_pool = 1;
  {
    ThreadPool pool("test", 1);
    pool.Schedule([&] { in_pool = least / 2; });
  }
  EXPECT_EQ(in_pool, 0);
  EXPECT_GT(least / 2, 0);
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

TEST(ThreadPool, WorkThatThrowsEndsNothingElse) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool("test", 1);
    pool.Schedule([] { throw std::bad_alloc(); });
    pool.Schedule([&] { ++ran; });
  }
  EXPECT_EQ(ran, 1);
}

TEST(ThreadPool, WhatABodyThrowsComesOutOfParallelFor) {
  ThreadPool pool("test", 3);
  std::atomic<int64_t> calls{0};
  const auto body = [&](int64_t, int64_t) {
    ++calls;
    throw std::bad_alloc();
  };
  EXPECT_THROW(pool.ParallelFor(100, 1'000'000, body), std::bad_alloc);
  EXPECT_LE(calls, 4) << "each thread stops at its first";
  EXPECT_THROW(pool.ParallelFor(1, 1, body), std::bad_alloc);
}

TEST(ThreadPool, ParallelForIsLeftWhenItIsCancelled) {
  ThreadPool pool("test", 3);
  CancellationManager cancellation;
  std::atomic<int64_t> done{0};
  const auto body = [&](int64_t begin, int64_t end) {
    done += end - begin;
    cancellation.StartCancel(DeadlineExceeded("too late"));
  };
  constexpr int64_t kTotal = int64_t{1} << 60;
  EXPECT_THROW(pool.ParallelFor(kTotal, 1, body, &cancellation), CancelledLoop);
  EXPECT_LT(done, int64_t{1} << 30);
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
