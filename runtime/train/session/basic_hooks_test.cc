#include "runtime/train/session/basic_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/client/ops.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;

TEST(Cadence, FiresAtOnceAndThenEverySoManySteps) {
  ManualClock clock;
  Cadence cadence(10, 0, &clock);
  EXPECT_TRUE(cadence.IsDue(3));
  cadence.Fired(3);
  EXPECT_FALSE(cadence.IsDue(12));
  EXPECT_TRUE(cadence.IsDue(13));
}

TEST(Cadence, FiresWhenTheStepsWentBack) {
  ManualClock clock;
  Cadence cadence(10, 0, &clock);
  cadence.Fired(100);
  EXPECT_TRUE(cadence.IsDue(95));
}

TEST(Cadence, CountsSecondsWhenThereAreNoSteps) {
  ManualClock clock;
  Cadence cadence(0, 60, &clock);
  cadence.Fired(1);
  clock.Advance(std::chrono::seconds(59));
  EXPECT_FALSE(cadence.IsDue(1000));
  clock.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(cadence.IsDue(2));
}

TEST(Cadence, WithNeitherItNeverFires) {
  ManualClock clock;
  EXPECT_FALSE(Cadence(0, 0, &clock).IsDue(1));
}

// A step may have read the counter before its own update.
TEST(StopAtStep, LooksAgainWhenTheEndIsNear) {
  Scope root;
  const Output now = Const(root.Named("now"), int64_t{10});
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Extend(*root.ToGraphDef()).ok());
  StopAtStep hook(10, now.name());
  EXPECT_FALSE(*hook.StepDone({session.get(), 8, {}}));
  EXPECT_TRUE(*hook.StepDone({session.get(), 9, {}}));
  EXPECT_TRUE(*hook.StepDone({session.get(), 12, {}}));
}

TEST(NanGuard, EndsTheTrainingOrOnlyWarns) {
  const std::vector<Tensor> loss = {Tensor::Scalar<float>(NAN)};
  const StepResult result = {nullptr, 7, loss};
  const Status fatal = NanGuard("loss:0", true).StepDone(result).status();
  EXPECT_EQ(fatal.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(fatal.message(), HasSubstr("loss:0 is NaN after step 7"));
  EXPECT_FALSE(*NanGuard("loss:0", false).StepDone(result));
}

TEST(NanGuard, TakesEveryFloatingType) {
  for (const Tensor& value : {Tensor::Scalar<double>(1.5), Tensor::Scalar<float>(1.5f)}) {
    const std::vector<Tensor> loss = {value};
    EXPECT_FALSE(*NanGuard("loss:0", true).StepDone({nullptr, 1, loss}));
  }
  const std::vector<Tensor> text = {Tensor::Scalar("text")};
  EXPECT_EQ(NanGuard("loss:0", true).StepDone({nullptr, 1, text}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensorfleet::train
