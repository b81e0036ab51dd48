#include "runtime/base/timer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;

constexpr auto kSoon = std::chrono::milliseconds(20);
constexpr auto kNever = std::chrono::hours(24);
constexpr auto kPatience = std::chrono::seconds(30);

TEST(TimerQueue, RunsClosuresByTimeAndEqualTimesInOrder) {
  std::vector<int> order;
  Notification last;
  TimerQueue timers;
  const auto when = std::chrono::steady_clock::now() + kSoon;
  timers.RunAt(when + kSoon, [&] { order.push_back(3), last.Notify(); });
  timers.RunAt(when, [&] { order.push_back(1); });
  timers.RunAt(when, [&] { order.push_back(2); });
  ASSERT_TRUE(last.WaitFor(kPatience));
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_GE(std::chrono::steady_clock::now(), when + kSoon);
}

TEST(TimerQueue, ATimerThatComesBeforeTheNextOneIsNotLate) {
  Notification fired;
  TimerQueue timers;
  timers.RunAfter(kNever, [] { FAIL() << "ran a day early"; });
  timers.RunAfter(kSoon, [&] { fired.Notify(); });
  EXPECT_TRUE(fired.WaitFor(kPatience));
}

TEST(TimerQueue, ACancelledTimerDoesNotRunAndLetsGoOfItsClosure) {
  Notification later;
  TimerQueue timers;
  auto held = std::make_shared<int>(0);
  // Not before it is cancelled, on a crowded machine either.
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  const TimerQueue::Id id = timers.RunAt(due, [held] { ++*held; });
  EXPECT_TRUE(timers.Cancel(id));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(timers.Cancel(id));
  timers.RunAt(due + kSoon, [&] { later.Notify(); });
  ASSERT_TRUE(later.WaitFor(kPatience));
  EXPECT_EQ(*held, 0);
}

TEST(TimerQueue, AClosureMaySetTheNextTimer) {
  Notification second;
  TimerQueue timers;
  timers.RunAfter(std::chrono::nanoseconds(0),
                  [&] { timers.RunAfter(kSoon, [&] { second.Notify(); }); });
  EXPECT_TRUE(second.WaitFor(kPatience));
}

TEST(TimerQueue, ATimerThatHasFiredCannotBeCancelled) {
  Notification fired;
  TimerQueue timers;
  const TimerQueue::Id id = timers.RunAfter(kSoon, [&] { fired.Notify(); });
  ASSERT_TRUE(fired.WaitFor(kPatience));
  EXPECT_FALSE(timers.Cancel(id));
}

TEST(TimerQueue, DropsWhatHasNotFiredAtItsEnd) {
  auto held = std::make_shared<int>(0);
  {
    TimerQueue timers;
    timers.RunAfter(kNever, [held] { ++*held; });
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

}  // namespace
}  // namespace tensorfleet
