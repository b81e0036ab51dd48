#include "operator/view/top_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace tensorfleet::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Bytes, HasThreeDigitsAtMost) {
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(999), "999 B");
  EXPECT_EQ(Bytes(1500), "1.5 kB");
  EXPECT_EQ(Bytes(12'345'678), "12 MB");
  EXPECT_EQ(Bytes(2e9), "2.0 GB");
  EXPECT_EQ(Bytes(-1), "");
}

TEST(Between, IsOneUnit) {
  const std::string begin = "2026-01-01T00:00:00Z";
  EXPECT_EQ(Between(begin, "2026-01-01T00:01:30Z"), "90 s");
  EXPECT_EQ(Between(begin, "2026-01-01T00:05:00Z"), "5 min");
  EXPECT_EQ(Between(begin, "2026-01-03T12:00:00Z"), "2 d");
  EXPECT_EQ(Between(begin, "2025-01-01T00:00:00Z"), "0 s") << "clocks differ";
  EXPECT_EQ(Between("soon", begin), "");
}

JobFacts TwoTasks() {
  JobFacts job;
  job.row = {"ns", "job", "Running", "2026-01-01T00:00:00Z", "worker 2"};
  Task task;
  task.name = "worker-0";
  task.state = "Running";
  task.node = "node-1";
  task.numbers = TaskNumbers{1200, 3e6, 0, 2, 5e7, 17.5, 1e5};
  job.tasks.push_back(task);
  task = Task();
  task.name = "worker-1";
  task.state = "Pending\x1b[2J";
  job.tasks.push_back(task);
  return job;
}

TEST(TopTable, HasALineATaskWithItsNumbers) {
  const auto lines = TopTable(TwoTasks(), "2026-01-01T00:05:00Z", 10);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "ns/job  Running  5 min");
  EXPECT_THAT(lines[2], HasSubstr("17.5"));
  EXPECT_THAT(lines[2], HasSubstr("3.0 MB"));
  EXPECT_THAT(lines[2], HasSubstr("100 kB/s"));
}

TEST(TopTable, CountsTheTasksThatItHasNoRoomFor) {
  const auto lines = TopTable(TwoTasks(), "2026-01-01T00:05:00Z", 1);
  EXPECT_EQ(lines.back(), "  and 1 more");
}

TEST(TopTable, GivesTheTerminalNothingToObey) {
  const std::string text = absl::StrJoin(TopTable(TwoTasks(), "2026-01-01T00:05:00Z", 10), "\n");
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("Pending?[2J"));
}

}  // namespace
}  // namespace tensorfleet::view
