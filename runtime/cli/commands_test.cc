// The command line as its users type it, up to where a server would start.
#include "runtime/cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "runtime/base/log.h"
#include "runtime/cli/log_flags.h"

namespace tensorfleet::cli {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int exit_code = -1;  // -1: the command line was refused
  std::string out, err;
};

Outcome Typed(const std::string& line) {
  CLI::App app("", "tensorfleet");
  app.require_subcommand(1);
  Outcome outcome;
  int exit_code = 0;
  AddServerCommand(&app, &exit_code);
  AddTrainCommand(&app, &exit_code);
  AddOpsCommand(&app, &exit_code);
  AddVersionCommand(&app, &exit_code);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  try {
    app.parse(line);
    outcome.exit_code = exit_code;
  } catch (const CLI::CallForHelp&) {
    outcome = {0, app.help(), ""};
  } catch (const CLI::ParseError& e) {
    outcome.err = e.what();
  }
  outcome.out += ::testing::internal::GetCapturedStdout();
  outcome.err += ::testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(Commands, OneIsNeededAndUnknownOnesAreRefused) {
  EXPECT_EQ(Typed("").exit_code, -1);
  EXPECT_EQ(Typed("serve").exit_code, -1);
  EXPECT_EQ(Typed("server --no_such_flag").exit_code, -1);
}

TEST(ServerCommand, NamesTheFlagWhoseValueIsOfNoUse) {
  for (const auto& [line, word] : std::vector<std::pair<std::string, std::string>>{
           {"--default_placement nowhere", "--default_placement"},
           {"--dump_graph /no/such/folder", "--dump_graph"},
           {"--cluster_spec ps|", "--cluster_spec"},
           {"--forbid_ops Readfile", "'Readfile' is neither an op nor one of the groups"},
           {"--log_level loud", "loud"},
           {"--log_format xml", "--log_format"}}) {
    const Outcome outcome = Typed("server " + line);
    EXPECT_EQ(outcome.exit_code, 2) << line;
    EXPECT_THAT(outcome.err, HasSubstr(word)) << line;
  }
}

TEST(ServerCommand, RefusesNumbersOutOfRange) {
  for (const char* flag :
       {"--task_index -1", "--threads 5000", "--metrics_port 70000", "--drain_deadline -1"}) {
    const Outcome outcome = Typed(std::string("server ") + flag);
    EXPECT_EQ(outcome.exit_code, -1) << flag;
    EXPECT_FALSE(outcome.err.empty()) << flag;
  }
}

TEST(ServerCommand, SaysThatAPortCannotBeListenedOn) {
  const Outcome outcome = Typed("server --bind 203.0.113.1:1");  // an address of nobody's
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("203.0.113.1:1"));
}

TEST(TrainCommand, DoesNotTrainOnAnotherDeviceThanTheOneAskedFor) {
  const Outcome outcome = Typed("train --pjrt none --device gpu");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no plug-in has a device of type GPU"));
  EXPECT_THAT(outcome.err, HasSubstr("--device=cpu"));
}

TEST(LogFlags, SetLevelAndFormat) {
  LogFlags flags;
  EXPECT_TRUE(flags.Apply().ok());
  flags.level = "error";
  flags.format = "json";
  EXPECT_TRUE(flags.Apply().ok());
  flags.level = "info";
  flags.format = "console";
  EXPECT_TRUE(flags.Apply().ok());
}

TEST(OpsCommand, ListsOpsAndWhatTheyRunOn) {
  const Outcome outcome = Typed("ops");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("MatMul"));
}

TEST(VersionCommand, PrintsTheVersion) {
  const Outcome outcome = Typed("version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace tensorfleet::cli
