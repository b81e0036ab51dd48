#include "runtime/train/optimizer/moving_average.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/session.h"

namespace tensorfleet::train {
namespace {

TEST(ExponentialMovingAverage, BeginsAtTheInitialValueAndFollows) {
  Scope root;
  Variables variables;
  const Variable w = variables.Make(root.Named("w"), Shape(), Constant(4));
  ExponentialMovingAverage averages(0.75);
  const Operation apply = averages.Apply(root, {w}, variables);
  const Operation set = Assign(root, w, Const(root, 8.0f));
  const Operation init = variables.InitOp(root);
  const Variable average = averages.Average(w);
  EXPECT_EQ(average.name, "w/ExponentialMovingAverage");
  const auto session = *Session::Open("");
  const auto value = [&] { return (*session->Run(root, {}, {average.value}))[0].scalar<float>(); };
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  EXPECT_EQ(value(), 4);
  ASSERT_TRUE(session->Run(root, {}, {}, {set}).ok());
  ASSERT_TRUE(session->Run(root, {}, {}, {apply}).ok());
  EXPECT_EQ(value(), 5);
}

TEST(ExponentialMovingAverage, MovesFasterWhileFewStepsAreDone) {
  Scope root;
  Variables variables;
  const Variable w = variables.Make(root.Named("w"), Shape(), Constant(0));
  const Output steps = Const(root, int64_t{2});
  ExponentialMovingAverage averages(0.99, steps);
  const Operation apply = averages.Apply(root, {w}, variables);
  const Operation set = Assign(root, w, Const(root, 8.0f));
  const Operation init = variables.InitOp(root);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  ASSERT_TRUE(session->Run(root, {}, {}, {set}).ok());
  ASSERT_TRUE(session->Run(root, {}, {}, {apply}).ok());
  // (1 + 2) / (10 + 2) of the old, the rest of the new.
  EXPECT_FLOAT_EQ((*session->Run(root, {}, {averages.Average(w).value}))[0].scalar<float>(), 6);
}

}  // namespace
}  // namespace tensorfleet::train
