#include "operator/local/progress.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/small_file.h"

namespace tensorfleet::local {
namespace {

Progress::Time At(int seconds) { return Progress::Time(std::chrono::seconds(seconds)); }

Progress After(const std::string& line) {
  Progress progress("/nonexistent");
  progress.OnLine(line, At(0));
  return progress;
}

TEST(Progress, IsReadFromLines) {
  EXPECT_EQ(After("step 12").step(), 12);
  EXPECT_EQ(After("global_step: 300, loss = 0.25").step(), 300);
  EXPECT_EQ(After("INFO:tensorflow:loss = 0.25, step = 300 (1.2 sec)").loss(), 0.25);
  EXPECT_EQ(After("Step: 7 Loss: 1e-3").loss(), 1e-3);
}

TEST(Progress, IsNotMistaken) {
  EXPECT_EQ(After("3 steps left").step(), std::nullopt);
  EXPECT_EQ(After("timestep 4").step(), std::nullopt);
  EXPECT_EQ(After("next step is hard").step(), std::nullopt);
  EXPECT_EQ(After("lossless 4").loss(), std::nullopt);
}

TEST(Progress, HasARateFromTheTimesOfSteps) {
  Progress progress("/nonexistent");
  progress.OnLine("step 100", At(0));
  EXPECT_EQ(progress.steps_per_second(), std::nullopt);
  progress.OnLine("step 160", At(2));
  EXPECT_EQ(progress.steps_per_second(), 30.0);
}

TEST(Progress, BeginsAnewAfterARestart) {
  Progress progress("/nonexistent");
  progress.OnLine("step 100", At(0));
  progress.OnLine("step 10", At(2));
  progress.OnLine("step 14", At(4));
  EXPECT_EQ(progress.steps_per_second(), 2.0);
}

TEST(Progress, IsTakenFromItsFile) {
  const std::string file =
      std::filesystem::path(::testing::TempDir()) / ("progress-" + std::to_string(getpid()));
  Progress progress(file);
  EXPECT_EQ(progress.Annotation(), "");
  ASSERT_TRUE(WriteSmallFile(file, R"({"step": 5, "checkpoint": "/c-5", "loss": 2.5})").ok());
  progress.Refresh();
  EXPECT_EQ(progress.step(), 5);
  EXPECT_EQ(progress.loss(), 2.5);
  EXPECT_EQ(nlohmann::json::parse(progress.Annotation())["checkpoint"], "/c-5");
  ASSERT_TRUE(WriteSmallFile(file, R"({"step": )").ok());  // half written
  progress.Refresh();
  EXPECT_EQ(progress.step(), 5);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace tensorfleet::local
