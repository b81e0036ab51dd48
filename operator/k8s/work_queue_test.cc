#include "operator/k8s/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tensorfleet::k8s {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Takes a key and hands it back at once.
std::string Next(WorkQueue& queue) {
  const auto key = queue.TryGet();
  if (!key) return "";
  queue.Done(*key);
  return *key;
}

TEST(WorkQueue, HoldsAKeyOnlyOnce) {
  ManualClock clock;
  WorkQueue queue(&clock);
  queue.Add("ns/a");
  queue.Add("ns/a");
  EXPECT_EQ(Next(queue), "ns/a");
  EXPECT_EQ(Next(queue), "");
}

TEST(WorkQueue, GivesAKeyToOneWorkerAtATimeAndAgainAfterwards) {
  ManualClock clock;
  WorkQueue queue(&clock);
  queue.Add("ns/a");
  ASSERT_EQ(queue.TryGet(), "ns/a");
  queue.Add("ns/a");
  EXPECT_EQ(queue.TryGet(), std::nullopt);
  queue.Done("ns/a");
  EXPECT_EQ(Next(queue), "ns/a");
}

TEST(WorkQueue, StartsANewKeyBeforeAThousandOlderOnes) {
  ManualClock clock;
  WorkQueue queue(&clock);
  for (int i = 0; i < 1000; ++i) queue.Add(absl::StrCat("ns/", i));
  for (int i = 0; i < 7; ++i) Next(queue);
  queue.Add("ns/new");
  std::vector<std::string> next = {Next(queue), Next(queue)};
  EXPECT_THAT(next, ::testing::Contains("ns/new"));
}

TEST(WorkQueue, LeavesNoOldKeyBehindWhileNewOnesKeepComing) {
  ManualClock clock;
  WorkQueue queue(&clock);
  for (int i = 0; i < 10; ++i) queue.Add(absl::StrCat("ns/old", i));
  int taken_old = 0;
  for (int i = 0; i < 20; ++i) {
    queue.Add(absl::StrCat("ns/new", i));
    taken_old += absl::string_view(Next(queue)).substr(0, 6) == "ns/old";
  }
  EXPECT_EQ(taken_old, 10);
}

TEST(WorkQueue, NamespacesTakeTurns) {
  ManualClock clock;
  WorkQueue queue(&clock);
  for (int i = 0; i < 100; ++i) queue.Add(absl::StrCat("big/", i));
  queue.Add("small/a");
  queue.Add("small/b");
  std::vector<std::string> next;
  for (int i = 0; i < 5; ++i) next.push_back(Next(queue));
  EXPECT_THAT(next, ::testing::IsSupersetOf({"small/a", "small/b"}));
}

TEST(WorkQueue, TakesTheReplayOfOldObjectsLast) {
  ManualClock clock;
  WorkQueue queue(&clock);
  queue.Add("ns/replayed", WorkQueue::Urgency::kBackground);
  queue.Add("ns/replayed-but-changed", WorkQueue::Urgency::kBackground);
  queue.Add("ns/live");
  queue.Add("ns/replayed-but-changed");
  EXPECT_THAT((std::vector<std::string>{Next(queue), Next(queue)}),
              ::testing::UnorderedElementsAre("ns/live", "ns/replayed-but-changed"));
  EXPECT_EQ(Next(queue), "ns/replayed");
  EXPECT_EQ(Next(queue), "");
}

TEST(WorkQueue, StartsANewKeyWhateverTheOthersDoMeanwhile) {
  ManualClock clock;
  WorkQueue queue(&clock);
  for (int i = 0; i < 100; ++i) queue.Add("ns/" + std::to_string(i), WorkQueue::Urgency::kNew);
  for (int i = 0; i < 100; ++i) queue.Add("ns/busy-" + std::to_string(i));
  queue.Add("ns/late", WorkQueue::Urgency::kNew);
  std::vector<std::string> taken;
  for (int i = 0; i < 4; ++i) {
    taken.push_back(Next(queue));
    // What has been worked on has news at once.
    queue.Add(taken.back());
  }
  EXPECT_THAT(taken, ::testing::Contains("ns/late"));
}

TEST(WorkQueue, LeavesNoOldKeyBehindForNewOnes) {
  ManualClock clock;
  WorkQueue queue(&clock);
  queue.Add("ns/old");
  for (int i = 0; i < 100; ++i) queue.Add("ns/" + std::to_string(i), WorkQueue::Urgency::kNew);
  EXPECT_THAT((std::vector<std::string>{Next(queue), Next(queue)}), ::testing::Contains("ns/old"));
}

TEST(WorkQueue, KeepsAppointments) {
  ManualClock clock;
  WorkQueue queue(&clock);
  queue.AddAfter("ns/late", seconds(10));
  queue.AddAfter("ns/soon", seconds(1));
  EXPECT_EQ(Next(queue), "");
  clock.Advance(seconds(1));
  EXPECT_EQ(Next(queue), "ns/soon");
  EXPECT_EQ(Next(queue), "");
  clock.Advance(seconds(9));
  EXPECT_EQ(Next(queue), "ns/late");
}

TEST(WorkQueue, TheEarlierOfTwoAppointmentsStands) {
  ManualClock clock;
  WorkQueue queue(&clock);
  queue.AddAfter("ns/a", seconds(10));
  queue.AddAfter("ns/a", seconds(2));
  queue.AddAfter("ns/a", seconds(5));
  clock.Advance(seconds(2));
  EXPECT_EQ(Next(queue), "ns/a");
  clock.Advance(seconds(20));
  EXPECT_EQ(Next(queue), "");
}

// A deadline in the year 300,000 is not yet due.
TEST(WorkQueue, AnAppointmentBeyondTheClocksRangeIsFarOff) {
  ManualClock clock;
  WorkQueue queue(&clock);
  clock.Advance(seconds(1));
  queue.AddAfter("ns/a", std::chrono::nanoseconds::max());
  EXPECT_EQ(Next(queue), "");
}

TEST(WorkQueue, FailuresWaitTwiceAsLongEachTime) {
  ManualClock clock;
  WorkQueue queue(&clock);
  for (const int wait : {5, 10, 20, 40}) {
    queue.AddRateLimited("ns/a");
    clock.Advance(milliseconds(wait - 1));
    EXPECT_EQ(Next(queue), "");
    clock.Advance(milliseconds(1));
    EXPECT_EQ(Next(queue), "ns/a");
  }
  queue.Forget("ns/a");
  queue.AddRateLimited("ns/a");
  clock.Advance(milliseconds(5));
  EXPECT_EQ(Next(queue), "ns/a");
}

TEST(WorkQueue, BackOffHasALimit) {
  ManualClock clock;
  WorkQueue queue(&clock, {milliseconds(5), seconds(1)});
  for (int i = 0; i < 100; ++i) {
    queue.AddRateLimited("ns/a");
    clock.Advance(seconds(1));
    ASSERT_EQ(Next(queue), "ns/a");
  }
}

TEST(WorkQueue, TellsHowLongKeysWaitAndAreWorkedOn) {
  ManualClock clock(0);
  std::vector<std::chrono::nanoseconds> waits;
  WorkQueue::Options options;
  options.on_taken = [&](std::chrono::nanoseconds waited) { waits.push_back(waited); };
  WorkQueue queue(&clock, options);
  queue.Add("ns/a");
  clock.Advance(seconds(2));
  queue.Add("ns/b");
  queue.Add("ns/a");  // waits already
  clock.Advance(seconds(1));
  ASSERT_TRUE(queue.TryGet() && queue.TryGet());
  EXPECT_THAT(waits, ::testing::UnorderedElementsAre(seconds(3), seconds(1)));
  clock.Advance(seconds(4));
  queue.Done("ns/a");
  clock.Advance(seconds(1));
  EXPECT_EQ(queue.unfinished().sum, seconds(5));
  EXPECT_EQ(queue.unfinished().longest, seconds(5));
}

TEST(WorkQueue, ShutDownReleasesTheWorkers) {
  WorkQueue queue(Clock::Real());
  std::thread worker([&] { EXPECT_EQ(queue.Get(), std::nullopt); });
  queue.ShutDown();
  worker.join();
}

TEST(WorkQueue, ManyWorkersTakeEveryKeyAndNoneTwiceAtOnce) {
  WorkQueue queue(Clock::Real());
  std::atomic<int> done{0};
  std::vector<std::atomic<int>> busy(50);
  std::vector<std::thread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      while (auto key = queue.Get()) {
        const int i = std::stoi(key->substr(3));
        EXPECT_EQ(busy[i]++, 0);
        std::this_thread::yield();
        busy[i]--;
        queue.Done(*key);
        done++;
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 50; ++i) queue.Add(absl::StrCat("ns/", i));
    std::this_thread::sleep_for(milliseconds(1));
  }
  while (queue.depth() > 0) std::this_thread::sleep_for(milliseconds(1));
  queue.ShutDown();
  for (auto& worker : workers) worker.join();
  EXPECT_GE(done, 50);
}

}  // namespace
}  // namespace tensorfleet::k8s
