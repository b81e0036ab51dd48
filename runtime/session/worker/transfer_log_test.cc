#include "runtime/session/worker/transfer_log.h"

#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

constexpr char kDevice[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr StepStatsCollector::Times kTimes{1000, 1000, 3000, 3000};

TEST(TransferLog, GivesAStepsTransfersOnce) {
  TransferLog log;
  log.Record(7, kDevice, "[24B] a", kTimes, 24);
  log.Record(8, kDevice, "[8B] b", kTimes, 8);
  log.Record(7, kDevice, "[16B] c", kTimes, 16);
  tensorflow::LoggingResponse response;
  log.Fetch(7, &response);
  ASSERT_EQ(response.step_size(), 1);
  EXPECT_EQ(response.step(0).step_id(), 7);
  const auto& device = response.step(0).step_stats().dev_stats(0);
  EXPECT_EQ(device.device(), kDevice);
  EXPECT_EQ(device.node_stats_size(), 2);
  tensorflow::LoggingResponse again;
  log.Fetch(7, &again);
  EXPECT_EQ(again.step_size(), 0);
  log.Fetch(8, &again);
  EXPECT_EQ(again.step_size(), 1);
}

TEST(TransferLog, IsOffUntilSwitchedOnAndKeepsWhatItHasWhenSwitchedOff) {
  TransferLog log;
  EXPECT_FALSE(log.is_on());
  log.Switch(true);
  EXPECT_TRUE(log.is_on());
  log.Record(1, kDevice, "[8B] a", kTimes, 8);
  log.Switch(false);
  EXPECT_FALSE(log.is_on());
  tensorflow::LoggingResponse response;
  log.Fetch(1, &response);
  EXPECT_EQ(response.step_size(), 1);
}

TEST(TransferLog, ForgetsTheOldestStepsThatNobodyFetches) {
  TransferLog log;
  for (int64_t id = 1; id <= 1000; ++id) log.Record(id, kDevice, "[8B] a", kTimes, 8);
  tensorflow::LoggingResponse response;
  log.Fetch(1, &response);
  EXPECT_EQ(response.step_size(), 0);
  log.Fetch(1000, &response);
  EXPECT_EQ(response.step_size(), 1);
  log.Record(2000, kDevice, "[8B] a", kTimes, 8);
  log.Clear();
  log.Fetch(2000, &response);
  EXPECT_EQ(response.step_size(), 1);
}

TEST(TransferLog, AFetchedStepThatIsRecordedAgainIsAsNewAsAnyOther) {
  TransferLog log;
  log.Record(1, kDevice, "[8B] a", kTimes, 8);
  tensorflow::LoggingResponse response;
  log.Fetch(1, &response);
  for (int64_t id = 2; id <= 256; ++id) log.Record(id, kDevice, "[8B] a", kTimes, 8);
  log.Record(1, kDevice, "[8B] a", kTimes, 8);
  response.Clear();
  log.Fetch(1, &response);
  log.Fetch(2, &response);
  EXPECT_EQ(response.step_size(), 2);
}

}  // namespace
}  // namespace tensorfleet
