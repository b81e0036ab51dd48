// The small tables of master and worker: request ids, errors of a step, steps.

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/session/master/step_errors.h"
#include "runtime/session/testing/stub_worker.h"
#include "runtime/session/worker/request_ids.h"
#include "runtime/session/worker/step_table.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

TEST(RequestIds, RefusesARepetitionButNeverZero) {
  RequestIds ids(2);
  EXPECT_TRUE(ids.Track(0, "RunStep (Master)").ok());
  EXPECT_TRUE(ids.Track(0, "RunStep (Master)").ok());
  EXPECT_TRUE(ids.Track(-5, "RunStep (Master)").ok());
  const Status again = ids.Track(-5, "RunStep (Master)");
  EXPECT_EQ(again.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(again.message(), HasSubstr("The same RunStep (Master) request was received twice."));
}

TEST(RequestIds, ForgetsTheOldest) {
  RequestIds ids(2);
  for (const int64_t id : {1, 2, 3}) EXPECT_TRUE(ids.Track(id, "x").ok());
  EXPECT_TRUE(ids.Track(1, "x").ok());
  EXPECT_FALSE(ids.Track(3, "x").ok());
}

TEST(StepErrors, TheRootCauseWinsOverEarlierEchoes) {
  StepErrors errors;
  EXPECT_FALSE(errors.Add(OkStatus()));
  EXPECT_FALSE(errors.Add(MarkDerived(Aborted("echo"))));
  EXPECT_TRUE(errors.Add(InvalidArgument("cause")));
  EXPECT_EQ(errors.Merged(), InvalidArgument("cause"));
}

TEST(StepErrors, AnEchoIsBetterThanNothing) {
  StepErrors errors;
  EXPECT_TRUE(errors.ok());
  (void)errors.Add(MarkDerived(Aborted("echo")));
  EXPECT_FALSE(errors.ok());
  EXPECT_EQ(errors.Merged().code(), absl::StatusCode::kAborted);
}

TEST(StepErrors, SeveralCausesAreJoinedUnderTheFirstCode) {
  StepErrors errors;
  EXPECT_TRUE(errors.Add(Unavailable("first")));
  EXPECT_FALSE(errors.Add(InvalidArgument("second")));
  EXPECT_FALSE(errors.Add(Unavailable("first")));
  const Status merged = errors.Merged();
  EXPECT_EQ(merged.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(merged.message(),
            "\n=====================\nUNAVAILABLE: first\n=====================\n"
            "INVALID_ARGUMENT: second\n=====================\n");
}

TEST(StepTable, APeerMayComeBeforeTheStepAndNotAfterIt) {
  StepTable steps;
  const auto early = steps.PeerCame(7).value();
  EXPECT_EQ(steps.Begin(7), early);
  EXPECT_EQ(steps.Remove(7), early);
  EXPECT_EQ(steps.PeerCame(7).status().code(), absl::StatusCode::kAborted);
  EXPECT_NE(steps.Begin(7), early);
  EXPECT_EQ(steps.Remove(8), nullptr);
}

TEST(StepTable, APeerThatGivesUpLeavesNothingBehind) {
  StepTable steps;
  const auto first = steps.PeerCame(7).value();
  (void)steps.PeerCame(7).value();
  steps.PeerLeft(first.get());
  EXPECT_EQ(steps.Find(7), first);
  steps.PeerLeft(first.get());
  EXPECT_EQ(steps.Find(7), nullptr);
  // It may come again: the step is not over, it has not begun.
  EXPECT_EQ(steps.PeerCame(7).status(), OkStatus());
}

TEST(StepTable, AStepThatHasBegunOutlivesItsPeers) {
  StepTable steps;
  const auto step = steps.PeerCame(7).value();
  (void)steps.Begin(7);
  steps.PeerLeft(step.get());
  EXPECT_EQ(steps.Find(7), step);
}

TEST(StepRendezvous, AbortEndsWaitersWithAnEcho) {
  StepRendezvous rendezvous(1);
  const RendezvousKey key =
      RendezvousKey::Parse(
          "/job:a/replica:0/task:0/device:CPU:0;1;/job:a/replica:0/task:0/device:CPU:0;x;0:0")
          .value();
  Status seen;
  rendezvous.RecvLocalAsync(key, nullptr,
                            [&](const Status& status, Tensor, bool) { seen = status; });
  rendezvous.StartAbort(InvalidArgument("cause"));
  EXPECT_EQ(seen.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(IsDerived(seen));
}

// Has one tensor, for everybody.
class Giver final : public StubWorker {
 public:
  void RecvTensor(const CallOptions&, const RecvTensorArgs&, RecvTensorResult* result,
                  Done done) override {
    if (is_gone) return done(Unavailable("Socket closed"));
    result->tensor = Tensor::Vector<float>({1, 2});
    done(OkStatus());
  }
  bool is_gone = false;
};

class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    rendezvous_.Bind("/job:a/replica:0/task:0", [this](absl::string_view) { return peer_; });
    rendezvous_.set_stats(&trace_);
  }
  Status Fetch(const std::string& name) {
    const std::string text = absl::StrCat("/job:b/replica:0/task:0/device:CPU:0;1;",
                                          "/job:a/replica:0/task:0/device:CPU:0;", name, ";0:0");
    Status seen = Internal("no answer");
    rendezvous_.RecvAsync(RendezvousKey::Parse(text).value(),
                          [&](const Status& status, Tensor, bool) { seen = status; });
    return seen;
  }
  // How many transfers the step's own trace, and the log, hold; both are emptied.
  std::pair<int, int> Recorded() {
    tensorflow::StepStats trace;
    trace_.Finish(&trace);
    tensorflow::LoggingResponse logged;
    log_.Fetch(7, &logged);
    const auto count = [](const tensorflow::StepStats& stats) {
      return stats.dev_stats_size() == 0 ? 0 : stats.dev_stats(0).node_stats_size();
    };
    return {count(trace), logged.step_size() == 0 ? 0 : count(logged.step(0).step_stats())};
  }

  const std::shared_ptr<Giver> peer_ = std::make_shared<Giver>();
  TransferLog log_;
  StepStatsCollector trace_;
  StepRendezvous rendezvous_{7, &log_};
};

TEST_F(FetchTest, ATransferIsLoggedInsteadOfTracedWhileTheLogIsOn) {
  ASSERT_TRUE(Fetch("x").ok());
  EXPECT_EQ(Recorded(), std::make_pair(1, 0));
  log_.Switch(true);
  ASSERT_TRUE(Fetch("y").ok());
  EXPECT_EQ(Recorded(), std::make_pair(0, 1));
  log_.Switch(false);
  ASSERT_TRUE(Fetch("z").ok());
  EXPECT_EQ(Recorded(), std::make_pair(1, 0));
}

TEST_F(FetchTest, ALostPeerIsNamed) {
  peer_->is_gone = true;
  const Status status = Fetch("x");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/job:b/replica:0/task:0"));
}

TEST(StepRendezvous, IsEmptyWhenNothingIsLeftToFetch) {
  StepRendezvous rendezvous(1);
  EXPECT_TRUE(rendezvous.IsEmpty());
  const RendezvousKey key = RendezvousKey::Parse("/a;1;/b;x;0:0").value();
  ASSERT_TRUE(rendezvous.Send(key, Tensor::Scalar(1.0f), false).ok());
  EXPECT_FALSE(rendezvous.IsEmpty());
  rendezvous.RecvLocalAsync(key, nullptr, [](const Status&, Tensor, bool) {});
  EXPECT_TRUE(rendezvous.IsEmpty());
  rendezvous.RecvLocalAsync(key, nullptr, [](const Status&, Tensor, bool) {});  // waits
  EXPECT_FALSE(rendezvous.IsEmpty());
}

TEST(StepRendezvous, ACancelledReceiverIsGoneAndTheValueStays) {
  StepRendezvous rendezvous(1);
  const RendezvousKey key = RendezvousKey::Parse("/a;1;/b;x;0:0").value();
  CancellationManager cancellation;
  int calls = 0;
  rendezvous.RecvLocalAsync(key, &cancellation, [&](const Status& status, Tensor, bool) {
    ++calls;
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  });
  cancellation.StartCancel();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(rendezvous.Send(key, Tensor::Scalar(1.0f), false).ok());
  EXPECT_EQ(calls, 1);
  Tensor value;
  bool is_dead = false;
  ASSERT_EQ(rendezvous.TryRecv(key, &value, &is_dead), OkStatus());
  EXPECT_EQ(value.scalar<float>(), 1);
}

TEST(StepRendezvous, AnotherMayWaitInPlaceOfACancelledReceiver) {
  StepRendezvous rendezvous(1);
  const RendezvousKey key = RendezvousKey::Parse("/a;1;/b;x;0:0").value();
  CancellationManager first, second;
  Status got_first, got_second = Internal("not called");
  rendezvous.RecvLocalAsync(key, &first,
                            [&](const Status& status, Tensor, bool) { got_first = status; });
  first.StartCancel();
  rendezvous.RecvLocalAsync(key, &second,
                            [&](const Status& status, Tensor, bool) { got_second = status; });
  ASSERT_TRUE(rendezvous.Send(key, Tensor::Scalar(1.0f), false).ok());
  second.StartCancel();
  EXPECT_EQ(got_first.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(got_second, OkStatus());
}

TEST(StepRendezvous, AValueAndACancellationAtOnceGiveOneOfThem) {
  for (int round = 0; round < 200; ++round) {
    StepRendezvous rendezvous(1);
    const RendezvousKey key = RendezvousKey::Parse("/a;1;/b;x;0:0").value();
    CancellationManager cancellation;
    std::atomic<int> values{0}, cancelled{0};
    std::thread canceller([&] { cancellation.StartCancel(); });
    std::thread sender(
        [&] { EXPECT_TRUE(rendezvous.Send(key, Tensor::Scalar(1.0f), false).ok()); });
    rendezvous.RecvLocalAsync(key, &cancellation, [&](const Status& status, Tensor, bool) {
      ++(status.ok() ? values : cancelled);
    });
    canceller.join();
    sender.join();
    EXPECT_EQ(values + cancelled, 1);
    EXPECT_EQ(rendezvous.IsEmpty(), values == 1) << "what nobody received is still there";
  }
}

}  // namespace
}  // namespace tensorfleet
