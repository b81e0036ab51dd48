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

TEST(Progress, KeepsEveryAccuracyThatWasSaid) {
  Progress progress("/nonexistent");
  progress.OnLine("Evaluated step=200 metrics=\"accuracy=0.5 loss=1.5\"", At(0));
  progress.OnLine("validation accuracy: 0.75", At(1));
  progress.OnLine("inaccuracy 7", At(1));
  EXPECT_EQ(progress.accuracy(), (std::vector<double>{0.5, 0.75}));
  for (int i = 0; i < 5000; ++i) progress.OnLine("accuracy 0.875", At(2));
  EXPECT_LE(progress.accuracy().size(), 1000u);
  EXPECT_EQ(progress.accuracy().front(), 0.5);
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
