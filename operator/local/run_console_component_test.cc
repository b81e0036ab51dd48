// What tensorfleet-run shows, on a terminal and without one.
#include "operator/local/run_fixture.h"

namespace tensorfleet::local {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(LocalRun, WritesPlainLinesWhereThereIsNoTerminal) {
  WriteJob({{"Worker", 1, "echo step 10 loss 0.5"}});
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_EQ(Out(), "worker-0 | step 10 loss 0.5\n");
  EXPECT_THAT(Out() + Err(), AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
  EXPECT_THAT(Err(), HasSubstr("images are not used: commands run on this machine"));
}

constexpr char kLearns[] =
    "echo step 10 loss 0.5; sleep 1.1; echo step 40 loss 0.25\n"
    "while [ ! -e $OUT/end ]; do sleep 0.05; done";

TEST_F(LocalRun, ShowsATableOfItsReplicasOnATerminal) {
  WriteJob({{"PS", 1, "sleep 60"}, {"Worker", 1, kLearns}});
  StartOnTerminal();
  const auto shows = [&](const char* regex) {
    return Eventually([&] { return ::testing::Matches(ContainsRegex(regex))(Screen()); });
  };
  EXPECT_TRUE(shows("\x1b\\[7mj  Running  0:0[0-9]\x1b\\[0m")) << Screen();
  EXPECT_TRUE(shows("worker-0  Running +40 +[0-9.]+ +0\\.25")) << Screen();
  EXPECT_TRUE(shows("ps-0      Running")) << Screen();
  Touch("end");
  EXPECT_EQ(Finish(), 0);
  EXPECT_THAT(Screen(), HasSubstr("\x1b[A\x1b[K"));
  EXPECT_GT(Screen().rfind("\x1b[A\x1b[K"), Screen().rfind("\x1b[7m")) << "it is gone at the end";
  EXPECT_THAT(Screen(), Not(HasSubstr("| step 40"))) << "lines are in the logs";
  EXPECT_THAT(Log("worker-0"), HasSubstr("step 40"));
}

TEST_F(LocalRun, ShowsLinesAboveTheTableWhenAsked) {
  WriteJob({{"Worker", 1, "echo hello"}});
  StartOnTerminal({"-v"});
  EXPECT_EQ(Finish(), 0);
  EXPECT_THAT(Screen(), HasSubstr("|\x1b[0m hello"));
}

TEST_F(LocalRun, EndsWithASummary) {
  WriteJob({{"PS", 1, "sleep 60"}, {"Worker", 1, "echo accuracy 0.5; echo accuracy 0.75; exit 3"}});
  EXPECT_EQ(Run({"--quiet"}), 1);
  EXPECT_EQ(Out(), "");
  EXPECT_THAT(Err(), AllOf(ContainsRegex("j: Failed after 0:0[0-9]"),
                           ContainsRegex("worker-0  Failed .* exit code 3"),
                           HasSubstr("accuracy  0.75  ▁█"),
                           ContainsRegex("logs      .*/logs/worker-0.log, and 1 more")));
}

TEST_F(LocalRun, ColoursReplicasOnATerminalEachInItsOwn) {
  WriteJob({{"Worker", 2, "echo hello"}}, "  successPolicy: AllWorkers\n");
  StartOnTerminal({"--plain"});
  EXPECT_EQ(Finish(), 0);
  // In the order in which they came; "--plain" takes the status line away, not the colours.
  EXPECT_THAT(Screen(), AllOf(ContainsRegex("\x1b\\[36mworker-[01] \\|\x1b\\[0m hello"),
                              ContainsRegex("\x1b\\[33mworker-[01] \\|\x1b\\[0m hello"),
                              Not(HasSubstr("\x1b[7m"))));
}

TEST_F(LocalRun, StopsByCtrlCOnATerminal) {
  WriteJob({{"Worker", 1, "echo $$ > $OUT/pid; echo > $OUT/up; sleep 60"}});
  StartOnTerminal();
  ASSERT_TRUE(Eventually([&] { return fs::exists(folder_ / "up"); }));
  ASSERT_EQ(write(terminal_, "\x03", 1), 1);
  EXPECT_EQ(Finish(), 128 + SIGINT);
  const int child = std::stoi(ReadAll(folder_ / "pid"));
  EXPECT_TRUE(Eventually([&] { return !IsRunning(child); }));
}

}  // namespace
}  // namespace tensorfleet::local
