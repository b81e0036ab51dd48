#include "operator/view/readings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet::view {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ReadLog, FindsLossesAndAccuraciesInTheirOrder) {
  const Readings readings = ReadLog(
      "starting\nstep 100 loss = 2.5\nstep 200 loss: 1.25 accuracy=0.5\nnothing\n"
      "step 300, loss 1, accuracy 0.75\n");
  EXPECT_THAT(readings.loss, ElementsAre(2.5, 1.25, 1));
  EXPECT_THAT(readings.accuracy, ElementsAre(0.5, 0.75));
  EXPECT_EQ(readings.step, "300");
}

TEST(ReadLog, ALogWithoutNumbersHasNone) {
  const Readings readings = ReadLog("loss of connection\nlossless\nloss nan\n");
  EXPECT_THAT(readings.loss, IsEmpty());
  EXPECT_EQ(readings.step, "");
}

}  // namespace
}  // namespace tensorfleet::view
