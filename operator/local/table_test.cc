#include "operator/local/table.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"

namespace tensorfleet::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

JobView Digits() {
  JobView job;
  job.name = "digits";
  job.state = "Running";
  job.elapsed = "0:03";
  job.replicas = {{"chief-0", "Running", 1250, 812.5, 0.25, 0, {}},
                  {"ps-0", "Running", {}, {}, {}, 1, {}}};
  return job;
}

TEST(Curve, GoesFromTheLowestToTheHighestValue) {
  EXPECT_EQ(Curve({0, 1, 2, 3, 4, 5, 6, 7}, 40), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(Curve({3, 3}, 40), "▁▁");
  EXPECT_EQ(Curve({3}, 40), "");
}

TEST(Curve, OfMoreValuesThanThereIsRoomForShowsMeans) {
  EXPECT_EQ(Curve({0, 0, 7, 7}, 2), "▁█");
  EXPECT_EQ(Curve(std::vector<double>(1000, 1), 5), "▁▁▁▁▁");
}

TEST(Table, HasALineForEachReplica) {
  EXPECT_THAT(
      TableOf(Digits(), 10),
      ElementsAre("digits  Running  0:03", "  replica  state           step   steps/s      loss",
                  "  chief-0  Running         1250     812.5      0.25",
                  "  ps-0     Running                                   restarts 1"));
}

TEST(Table, OfManyReplicasHasALineForEachType) {
  JobView job = Digits();
  for (int i = 0; i < 20; ++i) {
    job.replicas.push_back(
        {absl::StrCat("worker-", i), i < 5 ? "Pending" : "Running", i, {}, {}, 0, {}});
  }
  EXPECT_THAT(
      TableOf(job, 10),
      ElementsAre("digits  Running  0:03", "  chief       1 Running  step 1250",
                  "  ps          1 Running", "  worker      5 Pending, 15 Running  step 19"));
}

TEST(Table, ShowsAccuracyAsACurve) {
  JobView job = Digits();
  job.accuracy = {0.1, 0.8, 0.975};
  EXPECT_EQ(TableOf(job, 10).back(), "  accuracy  0.975  ▁▇█");
  job.accuracy.push_back(0.9);
  EXPECT_THAT(TableOf(job, 10).back(), HasSubstr("0.9 (best 0.975)"));
}

TEST(Summary, SaysHowItEndedAndWhereToLook) {
  JobView job = Digits();
  job.state = "Failed";
  job.reason = "Failed: 1 PS replica(s) failed.";
  job.restarts = 1;
  job.replicas[1].exit_code = 3;
  const auto lines = SummaryOf(job, "run/logs");
  EXPECT_EQ(lines[0], "digits: Failed after 0:03, 1 restart");
  EXPECT_EQ(lines[1], "  Failed: 1 PS replica(s) failed.");
  EXPECT_EQ(lines.back(), "  logs      run/logs/ps-0.log, and 1 more");
}

TEST(Summary, HasTenLinesAtMost) {
  JobView job = Digits();
  job.state = "Failed";
  job.reason = "because";
  job.accuracy = {0.1, 0.2};
  for (int i = 0; i < 4; ++i)
    job.replicas.push_back({absl::StrCat("worker-", i), "Failed", {}, {}, {}, 0, {}});
  EXPECT_THAT(SummaryOf(job, "l"), SizeIs(10));
  for (int i = 4; i < 40; ++i)
    job.replicas.push_back({absl::StrCat("worker-", i), "Failed", {}, {}, {}, 0, {}});
  EXPECT_LE(SummaryOf(job, "l").size(), 10u);
}

TEST(FirstCharacters, AreCharactersAndNotBytes) {
  EXPECT_EQ(FirstCharacters("▁▂▃", 2), "▁▂");
  EXPECT_EQ(FirstCharacters("ab", 5), "ab");
}

}  // namespace
}  // namespace tensorfleet::local
