#include "operator/api/values/timestamp.h"

#include <gtest/gtest.h>

namespace tensorfleet::api {
namespace {

TEST(Timestamp, IsWrittenInWholeSecondsUtc) {
  EXPECT_EQ(ToTimestamp(absl::FromUnixMillis(1704495500999)), "2024-01-05T22:58:20Z");
}

TEST(Timestamp, TheMicroFormKeepsMicroseconds) {
  EXPECT_EQ(ToMicroTimestamp(absl::FromUnixMicros(1704495500000042)),
            "2024-01-05T22:58:20.000042Z");
}

TEST(Timestamp, OffsetsAndFractionsAreRead) {
  EXPECT_EQ(ParseTimestamp("2024-01-05T23:58:20.5+01:00"), absl::FromUnixMillis(1704495500500));
}

TEST(Timestamp, WhatIsNoTimestampIsRefused) {
  for (const char* text : {"", "now", "infinite-past", " 2024-01-05T22:58:20Z", "2024-01-05"}) {
    EXPECT_FALSE(ParseTimestamp(text)) << text;
  }
}

TEST(Timestamp, SurvivesAWriteAndARead) {
  const absl::Time time = absl::FromUnixSeconds(1704495500);
  EXPECT_EQ(ParseTimestamp(ToTimestamp(time)), time);
}

}  // namespace
}  // namespace tensorfleet::api
