#include "runtime/base/cancellation.h"

#include <gtest/gtest.h>

#include <thread>

namespace tensorfleet {
namespace {

TEST(CancellationManager, RunsEachCallbackOnceAndKeepsTheReason) {
  CancellationManager manager;
  int ran = 0;
  manager.Register([&] { ++ran; });
  manager.StartCancel(Aborted("peer gone"));
  manager.StartCancel(Internal("too late"));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(manager.status(), Aborted("peer gone"));
}

TEST(CancellationManager, ADeregisteredCallbackNeverRuns) {
  CancellationManager manager;
  bool ran = false;
  const auto token = manager.Register([&] { ran = true; });
  EXPECT_TRUE(manager.Deregister(token));
  manager.StartCancel();
  EXPECT_FALSE(ran);
}

TEST(CancellationManager, RefusesARegistrationAfterCancellation) {
  CancellationManager manager;
  manager.StartCancel();
  EXPECT_EQ(manager.Register([] {}), -1);
}

TEST(CancellationManager, DeregisterWaitsForARunningCallback) {
  for (int round = 0; round < 100; ++round) {
    CancellationManager manager;
    Notification started, about_to_deregister;
    std::atomic<bool> finished{false};
    const auto token = manager.Register([&] {
      started.Notify();
      about_to_deregister.Wait();
      std::this_thread::yield();
      finished = true;
    });
    std::thread canceller([&] { manager.StartCancel(); });
    started.Wait();
    about_to_deregister.Notify();
    EXPECT_FALSE(manager.Deregister(token));
    EXPECT_TRUE(finished);
    canceller.join();
  }
}

TEST(CancellationManager, AChildFollowsItsParentButNotTheOtherWayRound) {
  CancellationManager parent;
  CancellationManager first(&parent), second(&parent);
  first.StartCancel();
  EXPECT_FALSE(parent.is_cancelled());
  EXPECT_FALSE(second.is_cancelled());
  parent.StartCancel(Unavailable("worker lost"));
  EXPECT_EQ(second.status(), Unavailable("worker lost"));
}

}  // namespace
}  // namespace tensorfleet
