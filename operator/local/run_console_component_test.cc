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

TEST_F(LocalRun, ShowsAStatusLineOnATerminal) {
  WriteJob({{"PS", 1, "sleep 60"}, {"Worker", 1, kLearns}});
  StartOnTerminal();
  // Drawn again below each line, in reverse, and taken away before the next.
  constexpr char kStatus[] =
      "\x1b\\[7m j  Running  ps 1/1  worker 1/1  step 40  loss 0\\.25  [0-9.]+ steps/s  0:0[0-9] "
      "\x1b\\[0m";
  EXPECT_TRUE(Eventually([&] { return ::testing::Matches(ContainsRegex(kStatus))(Screen()); }))
      << Screen();
  Touch("end");
  EXPECT_EQ(Finish(), 0);
  EXPECT_THAT(Screen(), HasSubstr("\r\x1b[K"));
  EXPECT_GT(Screen().rfind("\r\x1b[K"), Screen().rfind("\x1b[7m")) << "it is gone at the end";
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
