#include "runtime/tensor/shape.h"

#include <gtest/gtest.h>

#include "proto/tensor.pb.h"

namespace tensorfleet {
namespace {

TEST(Shape, AScalarHasOneElement) { EXPECT_EQ(Shape().num_elements(), 1); }

TEST(Shape, RefusesNegativeAndOverflowingDimensions) {
  EXPECT_FALSE(Shape::Make({2, -1}).ok());
  EXPECT_FALSE(Shape::Make({int64_t{1} << 40, int64_t{1} << 40}).ok());
  // A zero does not hide the overflow of the rest.
  EXPECT_FALSE(Shape::Make({0, int64_t{1} << 40, int64_t{1} << 40}).ok());
}

TEST(Shape, RefusesARankOverTheMaximum) {
  const std::vector<int64_t> ones(Shape::kMaxRank + 1, 1);
  EXPECT_FALSE(Shape::Make(ones).ok());
}

TEST(Shape, RoundTripsThroughTheProto) {
  const Shape shape({3, 0, 5});
  tensorflow::TensorShapeProto proto;
  shape.ToProto(&proto);
  EXPECT_EQ(*Shape::FromProto(proto), shape);
  EXPECT_EQ(shape.ToString(), "[3,0,5]");
}

TEST(Shape, ItsExtentLeavesOutZeros) {
  EXPECT_EQ(Shape({3, 4}).extent(), 12);
  EXPECT_EQ(Shape({3, 0, 5}).extent(), 15);
  EXPECT_EQ(Shape().extent(), 1);
}

TEST(Shape, GrowsAtBothEnds) {
  EXPECT_EQ(*Shape({3}).Stacked(2), Shape({2, 3}));
  EXPECT_EQ(*Shape({3}).Concatenated({4, 5}), Shape({3, 4, 5}));
  EXPECT_FALSE(Shape({3}).Stacked(-1).ok());
  EXPECT_FALSE(Shape({int64_t{1} << 40, 0}).Stacked(int64_t{1} << 40).ok());
}

TEST(Shape, NegativePositionsCountFromTheEnd) { EXPECT_EQ(Shape({2, 3}).dim(-1), 3); }

TEST(PartialShape, MergesWhatEachSideKnows) {
  const PartialShape a({2, -1}), b({-1, 3});
  EXPECT_EQ(*a.MergedWith(b), PartialShape({2, 3}));
  EXPECT_EQ(*a.MergedWith(PartialShape::Unknown()), a);
  EXPECT_FALSE(a.MergedWith(PartialShape({4, 1})).ok());
  EXPECT_FALSE(a.MergedWith(PartialShape({2})).ok());
}

TEST(PartialShape, PrintsOpenPartsAsQuestionMarks) {
  EXPECT_EQ(PartialShape({2, -1}).ToString(), "[2,?]");
  EXPECT_EQ(PartialShape::Unknown().ToString(), "<unknown>");
}

TEST(PartialShape, RefusesADimensionBelowMinusOne) {
  tensorflow::TensorShapeProto proto;
  proto.add_dim()->set_size(-2);
  EXPECT_FALSE(PartialShape::FromProto(proto).ok());
}

}  // namespace
}  // namespace tensorfleet
