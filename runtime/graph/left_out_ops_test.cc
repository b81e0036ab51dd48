#include "runtime/graph/left_out_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

TEST(LeftOutOps, NamesTheWayAround) {
  EXPECT_THAT(WhyLeftOut("PyFunc"), HasSubstr("feed its results"));
  EXPECT_THAT(WhyLeftOut("AudioMicrofrontend"), HasSubstr("no program"));  // first in the list
  EXPECT_THAT(WhyLeftOut("XlaWhile"), HasSubstr("XLA"));                   // last
}

TEST(LeftOutOps, SaysNothingOfOthers) {
  EXPECT_EQ(WhyLeftOut("MatMul"), "");
  EXPECT_EQ(WhyLeftOut("Aaa"), "");
  EXPECT_EQ(WhyLeftOut("Zzz"), "");
}

}  // namespace
}  // namespace tensorfleet
