// The small tables of master and worker: request ids, errors of a step, steps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/session/request_ids.h"
#include "runtime/session/step_errors.h"
#include "runtime/session/step_table.h"

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
  const auto early = steps.FindOrMake(7).value();
  EXPECT_EQ(steps.Begin(7), early);
  EXPECT_EQ(steps.Remove(7), early);
  EXPECT_EQ(steps.FindOrMake(7).status().code(), absl::StatusCode::kAborted);
  EXPECT_NE(steps.Begin(7), early);
  EXPECT_EQ(steps.Remove(8), nullptr);
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
}

}  // namespace
}  // namespace tensorfleet
