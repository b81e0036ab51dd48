#include "operator/view/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet::view {
namespace {

TEST(ParseMetrics, GivesNamesLabelsAndValues) {
  const auto samples = ParseMetrics(
      "# HELP a Text.\n# TYPE a counter\na 12\nb{x=\"1\",y=\"two \\\"2\\\"\\n\"} 1.5e3 "
      "1700000000\n");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].name, "a");
  EXPECT_EQ(samples[0].value, 12);
  EXPECT_EQ(samples[1].labels.at("x"), "1");
  EXPECT_EQ(samples[1].labels.at("y"), "two \"2\"\n");
  EXPECT_EQ(samples[1].value, 1500);
}

TEST(ParseMetrics, LeavesOutWhatIsNoSample) {
  EXPECT_TRUE(ParseMetrics("").empty());
  for (const char* line : {"a", "a b", "{x=\"1\"} 2", "a{x=\"1} 2", "a{x=1} 2", "a{", "a{x=\"\\",
                           "a{x=\"1\"", "\xff\xfe \xff"}) {
    for (const Sample& sample : ParseMetrics(line)) EXPECT_EQ(sample.name, "") << line;
  }
  EXPECT_EQ(ParseMetrics("broken{\na 1\n").size(), 1u);
}

}  // namespace
}  // namespace tensorfleet::view
