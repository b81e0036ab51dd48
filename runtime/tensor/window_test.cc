#include "runtime/tensor/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

TEST(Window, ValidKeepsInside) {
  const Window w = *MakeWindow(7, 3, 1, 2, Padding::kValid);
  EXPECT_EQ(w.output, 3);
  EXPECT_EQ(w.Start(0), 0);
  EXPECT_EQ(w.FirstTap(2), 0);
  EXPECT_EQ(w.LastTap(2), 3);
}

TEST(Window, SamePadsTheEndWithTheOddOneOut) {
  const Window w = *MakeWindow(4, 2, 1, 1, Padding::kSame);
  EXPECT_EQ(w.output, 4);
  EXPECT_EQ(w.before, 0);
  EXPECT_EQ(w.after, 1);
  EXPECT_EQ(w.LastTap(3), 1);
  EXPECT_EQ(MakeWindow(5, 3, 1, 2, Padding::kSame)->before, 1);
}

TEST(Window, SameNeedsNoPaddingForAStrideOverItsSize) {
  const Window w = *MakeWindow(5, 1, 1, 3, Padding::kSame);
  EXPECT_EQ(w.output, 2);
  EXPECT_EQ(w.before + w.after, 0);
}

TEST(Window, DilatedTapsInsideAreFoundAtBothEdges) {
  const Window w = *MakeWindow(5, 3, 2, 1, Padding::kSame);  // taps at -2, 0, 2 of each position
  EXPECT_EQ(w.FirstTap(0), 1);
  EXPECT_EQ(w.FirstTap(1), 1);
  EXPECT_EQ(w.FirstTap(2), 0);
  EXPECT_EQ(w.LastTap(4), 2);
  EXPECT_EQ(w.LastTap(2), 3);
}

TEST(Window, APositionWhollyInThePaddingHasNoTaps) {
  const Window w = *MakeWindow(2, 2, 1, 3, Padding::kExplicit, 3, 3);
  ASSERT_EQ(w.output, 3);
  EXPECT_EQ(w.FirstTap(0), 2);
  EXPECT_EQ(w.LastTap(2), 0);
}

TEST(Window, AnEmptyDimensionHasNoTaps) {
  EXPECT_EQ(MakeWindow(0, 3, 1, 1, Padding::kSame)->output, 0);
  const Window w = *MakeWindow(0, 1, 1, 1, Padding::kExplicit, 1, 0);
  ASSERT_EQ(w.output, 1);
  EXPECT_LE(w.LastTap(0), w.FirstTap(0));
}

TEST(Window, RefusesAWindowThatDoesNotFit) {
  EXPECT_EQ(MakeWindow(2, 4, 1, 1, Padding::kValid).status(),
            InvalidArgument("Computed output size would be negative: -1 [input_size: 2, "
                            "effective_filter_size: 4, stride: 1]"));
  // Too big by less than a stride: no position at all.
  EXPECT_EQ(MakeWindow(1, 2, 1, 2, Padding::kValid)->output, 0);
}

TEST(Window, RefusesNumbersThatMakeNoSense) {
  EXPECT_THAT(MakeWindow(4, 2, 1, 0, Padding::kSame).status().message(),
              HasSubstr("Stride must be >= 1, but got 0"));
  EXPECT_THAT(MakeWindow(4, 2, -1, 1, Padding::kSame).status().message(),
              HasSubstr("Dilation rate must be >= 1"));
  EXPECT_THAT(MakeWindow(4, int64_t{1} << 40, 1, 1, Padding::kSame).status().message(),
              HasSubstr("must fit in 31 bits"));
  EXPECT_FALSE(MakeWindow(int64_t{1} << 62, 1, 1, 1, Padding::kSame).ok());
}

}  // namespace
}  // namespace tensorfleet
