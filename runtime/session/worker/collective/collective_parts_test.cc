#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/session/testing/stub_worker.h"
#include "runtime/session/worker/collective/member_watch.h"
#include "runtime/session/worker/collective/step_sequences.h"
#include "runtime/session/worker/collective/worker_collectives.h"
#include "runtime/session/worker/step_table.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

TEST(StepSequences, TheLeaderTellsOthersOfTheStepThatIsUnderWay) {
  StepSequences sequences;
  const int64_t promised = sequences.Current(7);
  EXPECT_GT(promised, 0);
  EXPECT_EQ(*sequences.Next("", 7), promised);
  EXPECT_EQ(sequences.Current(7), promised);
  sequences.Over("", 7, promised, /*ok=*/true);
  EXPECT_EQ(sequences.Current(7), promised + 1);
  EXPECT_NE(sequences.Current(8), promised + 1);
}

TEST(StepSequences, OthersCountOnUntilAStepFails) {
  StepSequences sequences;
  EXPECT_EQ(sequences.Next("leader", 7), std::nullopt);
  sequences.Set("leader", 7, 100);
  EXPECT_EQ(*sequences.Next("leader", 7), 100);
  sequences.Over("leader", 7, 100, /*ok=*/true);
  EXPECT_EQ(*sequences.Next("leader", 7), 101);
  EXPECT_EQ(sequences.Burnt("leader", 7), 0);
  sequences.Over("leader", 7, 101, /*ok=*/false);
  EXPECT_EQ(sequences.Burnt("leader", 7), 101);
  EXPECT_EQ(sequences.Next("leader", 7), std::nullopt);
  EXPECT_EQ(sequences.Set("leader", 7, 105), 101);
  EXPECT_EQ(*sequences.Next("leader", 7), 105);
}

TEST(StepSequences, IdsOfTensorFlowsLeadersAreCountedOnWhole) {
  StepSequences sequences;
  const int64_t first = (int64_t{1} << 56) + 41;
  sequences.Set("leader", 7, first);
  EXPECT_EQ(*sequences.Next("leader", 7), first);
  EXPECT_EQ(*sequences.Next("leader", 7), first + 1);
}

TEST(StepSequences, AStepThatAnotherHasFailedInIsLeftOut) {
  StepSequences sequences;
  const int64_t promised = sequences.Current(7);
  const StepSequences::Renewed renewed = sequences.Renew(7, promised);
  EXPECT_FALSE(renewed.is_running);
  EXPECT_TRUE(renewed.is_left_out);
  EXPECT_NE(renewed.next, promised);
  EXPECT_EQ(*sequences.Next("", 7), renewed.next);
  // One that is under way is to end, and the leader counts on.
  const StepSequences::Renewed second = sequences.Renew(7, renewed.next);
  EXPECT_TRUE(second.is_running);
  EXPECT_EQ(second.next, renewed.next + 1);
  // One in which the leader does not wait for the other any more goes on.
  const StepSequences::Renewed third = sequences.Renew(7, renewed.next + 1);
  EXPECT_FALSE(third.is_running);
  EXPECT_NE(third.next, renewed.next + 1);
}

TEST(StepTable, PeersDoNotWaitInStepsThatAreLeftOut) {
  StepTable steps;
  const std::shared_ptr<WorkerStep> waiting = *steps.PeerCame(105);
  const std::shared_ptr<WorkerStep> begun = steps.Begin(106);
  steps.Skip(103, 107);
  EXPECT_TRUE(waiting->cancellation.is_cancelled());
  EXPECT_FALSE(begun->cancellation.is_cancelled());
  EXPECT_FALSE(steps.PeerCame(104).ok());
  EXPECT_TRUE(steps.IsOver(104));
  EXPECT_TRUE(steps.PeerCame(108).ok());
  steps.PeerLeft(waiting.get());
}

// Answers when it is told to.
class Silent final : public StubWorker {
 public:
  void GetStatus(const CallOptions& options,
                 DoneWith<std::vector<DeviceAttributes>> done) override {
    EXPECT_GT(options.timeout.count(), 0);
    {
      MutexLock lock(&mu_);
      ++asked_;
    }
    if (is_dead.load()) {
      done(DeadlineExceeded("no answer"));
    } else {
      done(std::vector<DeviceAttributes>());
    }
    called_.NotifyAll();
  }
  void WaitUntilAsked(int times) {
    MutexLock lock(&mu_);
    while (asked_ < times) called_.WaitFor(&mu_, std::chrono::milliseconds(10));
  }
  std::atomic<bool> is_dead{false};

 private:
  Mutex mu_;
  CondVar called_;
  int asked_ ABSL_GUARDED_BY(mu_) = 0;
};

TEST(MemberWatch, TellsThoseWhoWaitWhenATaskStopsAnswering) {
  const auto peer = std::make_shared<Silent>();
  TimerQueue timers;
  const auto watch = std::make_shared<MemberWatch>(&timers, std::chrono::milliseconds(50));
  Notification told;
  Status why;
  const MemberWatch::Id left = watch->Enter("b", peer, [](const Status&) { FAIL(); });
  watch->Enter("b", peer, [&](const Status& status) {
    why = status;
    told.Notify();
  });
  peer->WaitUntilAsked(3);
  EXPECT_FALSE(told.HasBeenNotified());
  watch->Leave("b", left);
  peer->is_dead = true;
  ASSERT_TRUE(told.WaitFor(std::chrono::seconds(20)));
  EXPECT_EQ(why.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(why.message(), HasSubstr("b does not answer"));
}

TEST(CollectiveLeader, IsWhatTheConfigurationSaysElseTheFirstOfChiefOrWorker) {
  const ClusterSpec training = ClusterSpec::FromFlag("worker|a:1;b:1,chief|c:1,ps|d:1").value();
  tensorflow::ConfigProto config;
  EXPECT_EQ(CollectiveLeader(config, training, "own"), "/job:chief/replica:0/task:0");
  EXPECT_EQ(CollectiveLeader(config, ClusterSpec::FromFlag("ps|d:1,worker|a:1").value(), "own"),
            "/job:worker/replica:0/task:0");
  EXPECT_EQ(CollectiveLeader(config, ClusterSpec::FromFlag("local|d:1").value(), "own"), "own");
  config.mutable_experimental()->set_collective_group_leader("/job:ps/replica:0/task:0");
  EXPECT_EQ(CollectiveLeader(config, training, "own"), "/job:ps/replica:0/task:0");
}

}  // namespace
}  // namespace tensorfleet
