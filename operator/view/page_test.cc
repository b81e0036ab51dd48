#include "operator/view/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace tensorfleet::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNow[] = "2026-01-01T00:05:00Z";
constexpr char kHostile[] = "\"><script>alert(1)</script>'&";

TEST(Escaped, LeavesNothingThatHtmlWouldObey) {
  EXPECT_EQ(Escaped("a<b>\"c\"'d'&"), "a&lt;b&gt;&quot;c&quot;&#39;d&#39;&amp;");
}

TEST(Pages, EscapeWhatComesFromTheCluster) {
  JobFacts job;
  job.row = {kHostile, kHostile, kHostile, kHostile, kHostile};
  job.reason = job.started = job.ended = kHostile;
  job.moments.push_back({kHostile, kHostile, kHostile});
  Task task;
  task.name = task.job = task.pod = task.state = task.node = task.last_end = kHostile;
  job.tasks.push_back(task);
  Readings readings;
  readings.step = kHostile;
  for (const std::string& page :
       {OneJobPage(job, readings, kHostile, kNow), JobsPage({{job.row}, kHostile}, kHostile, kNow),
        ErrorPage(kHostile, kHostile)}) {
    EXPECT_THAT(page, Not(HasSubstr("<script")));
  }
}

TEST(JobsPage, ContinuesWhereTheListEnded) {
  const JobPage jobs = {{{"ns", "job", "Running", "2026-01-01T00:00:00Z", "worker 2"}}, "a/b="};
  const std::string page = JobsPage(jobs, "", kNow);
  EXPECT_THAT(page, HasSubstr("href=\"/jobs/ns/job\""));
  EXPECT_THAT(page, HasSubstr("from=a%2fb%3d"));
}

TEST(OneJobPage, DrawsCurvesOfWhatTheLogSaid) {
  JobFacts job;
  job.row.name = "job";
  const std::string page = OneJobPage(job, {{3, 2, 1}, {}, "300"}, "job-chief-0", kNow);
  EXPECT_THAT(page, HasSubstr("<polyline"));
  EXPECT_THAT(page, HasSubstr("from 1 to 3"));
  EXPECT_THAT(page, HasSubstr("step 300"));
  EXPECT_THAT(page, Not(HasSubstr("aria-label=\"accuracy\"")));
  EXPECT_THAT(OneJobPage(job, {{5}, {5, 5}, ""}, "", kNow), HasSubstr("accuracy"));
}

TEST(OneJobPage, AsksAgainUntilTheJobHasEnded) {
  JobFacts job;
  EXPECT_THAT(OneJobPage(job, {}, "", kNow), HasSubstr("http-equiv=\"refresh\""));
  job.ended = kNow;
  EXPECT_THAT(OneJobPage(job, {}, "", kNow), Not(HasSubstr("http-equiv=\"refresh\"")));
}

}  // namespace
}  // namespace tensorfleet::view
