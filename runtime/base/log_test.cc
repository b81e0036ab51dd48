#include "runtime/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

// Runs `log` and returns what it wrote to standard error.
template <typename F>
std::string Captured(F log) {
  testing::internal::CaptureStderr();
  log();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, AConsoleLineQuotesOnlyWhatNeedsIt) {
  const std::string line = Captured([] { LogInfo("started", {{"task", "ps:0"}, {"why", "a b"}}); });
  EXPECT_THAT(line, HasSubstr("started task=ps:0 why=\"a b\"\n"));
}

TEST(Log, AJsonLineEscapesControlCharacters) {
  SetLogFormat(LogFormat::kJson);
  const std::string line = Captured([] { LogWarning("a\"b\n", {{"n", 7}}); });
  SetLogFormat(LogFormat::kConsole);
  EXPECT_THAT(line, HasSubstr(R"("level":"warning","msg":"a\"b\n","n":"7"})"));
}

TEST(Log, LinesBelowTheLevelAreDropped) {
  SetLogLevel(LogLevel::kError);
  const std::string line = Captured([] { LogWarning("quiet"); });
  SetLogLevel(LogLevel::kInfo);
  EXPECT_EQ(line, "");
}

TEST(Log, AnUnknownLevelIsNamed) {
  EXPECT_THAT(std::string(ParseLogLevel("loud").status().message()), HasSubstr("\"loud\""));
}

}  // namespace
}  // namespace tensorfleet
