#include "runtime/io/tensor_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"

namespace tensorfleet {
namespace {

TEST(TensorSlice, ReadsItsText) {
  const TensorSlice slice = TensorSlice::Parse("3,4:-:0,1").value();
  EXPECT_EQ(slice.ToString(), "3,4:-:0,1");
  EXPECT_EQ(slice.Resolved(Shape({10, 5, 1}))->ToString(), "3,4:0,5:0,1");
  EXPECT_EQ(TensorSlice::Parse("foo").status(),
            InvalidArgument("Expected a pair of numbers or '-' but got 'foo': string = foo"));
  EXPECT_FALSE(TensorSlice::Parse("-1,3").ok());
  EXPECT_FALSE(TensorSlice::Parse("1,0").ok());
}

TEST(TensorSlice, MustLieInsideTheTensor) {
  EXPECT_EQ(TensorSlice::Parse("3,22:-")->Resolved(Shape({10, 2})).status(),
            Internal("Extent in dimension 0 out of bounds: shape = [10,2], slice = 3,22:-"));
  EXPECT_FALSE(
      TensorSlice::Parse("9223372036854775807,9223372036854775807")->Resolved(Shape({10})).ok());
}

TEST(ShapeAndSlice, IsShapeThenSlice) {
  const ShapeAndSlice parsed = ParseShapeAndSlice("10 2 4,3:-").value();
  EXPECT_EQ(parsed.shape, Shape({10, 2}));
  EXPECT_EQ(parsed.piece_shape, Shape({3, 2}));
  EXPECT_EQ(ParseShapeAndSlice("foo").status(),
            InvalidArgument("Need least two elements in shape_and_slice specification: foo"));
  EXPECT_EQ(ParseShapeAndSlice("10 x 0,1:-").status(),
            InvalidArgument("Non numerical dimension in shape_and_slice: 10 x 0,1:-"));
}

// Keys that TensorFlow 2.15 wrote.
TEST(SliceKey, AgreesWithTensorFlow) {
  const auto key = [](const char* slice) {
    return absl::BytesToHexString(EncodeSliceKey("p", *TensorSlice::Parse(slice)));
  };
  EXPECT_EQ(key("4,3:0,2"),
            "0070000101028483"
            "8082");
  EXPECT_EQ(key("334,333:0,70"), "007000010102c14ec14d80c046");
  EXPECT_EQ(key("10000,1"), "007000010101e0271081");
  EXPECT_EQ(key("-"), "007000010101807f");
}

TEST(CopyOverlap, CopiesWhatBothHave) {
  const Tensor from =
      Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4});  // rows 1-2, columns 0-1 of a 4x3
  Tensor to = Tensor::Zeros(DType::kFloat, Shape({2, 3})).value();  // rows 2-3
  EXPECT_EQ(CopyOverlap(*TensorSlice::Parse("1,2:0,2"), from, *TensorSlice::Parse("2,2:0,3"), to),
            2);
  EXPECT_THAT(to.values<float>(), ::testing::ElementsAre(3, 4, 0, 0, 0, 0));
}

}  // namespace
}  // namespace tensorfleet
