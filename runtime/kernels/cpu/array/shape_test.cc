// Tests of the kernels about shapes and of those that fill them.
#include <limits>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using ShapeKernels = OpTest;
using FillKernels = OpTest;

Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Longs(std::initializer_list<int64_t> values) { return Tensor::Vector<int64_t>(values); }
Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor Zeros(const Shape& shape) { return *Tensor::Zeros(DType::kFloat, shape); }

TEST_F(ShapeKernels, TellShapeSizeAndRank) {
  const Tensor x = Zeros(Shape({2, 0, 3}));
  ExpectSame(RunOne("Shape", {x}), Ints({2, 0, 3}));
  ExpectSame(RunOne(OpNode("Shape").Attr("out_type", DType::kInt64), {x}), Longs({2, 0, 3}));
  ExpectSame(RunOne("Shape", {Tensor::Scalar(1.0f)}), Ints({}));
  ExpectSame(RunOne("Size", {x}), Tensor::Scalar<int32_t>(0));
  ExpectSame(RunOne("Rank", {x}), Tensor::Scalar<int32_t>(3));
  const auto shapes = Run("ShapeN", {Zeros(Shape({2})), Zeros(Shape({3, 1}))});
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  ExpectSame((*shapes)[1], Ints({3, 1}));
}

TEST_F(ShapeKernels, ReshapeKeepsTheElements) {
  const Tensor x = Floats({1, 2, 3, 4, 5, 6});
  ExpectSame(RunOne("Reshape", {x, Ints({2, 3})}),
             Tensor::Of<float>(Shape({2, 3}), {1, 2, 3, 4, 5, 6}));
  ExpectSame(RunOne("Reshape", {x, Longs({3, -1})}),
             Tensor::Of<float>(Shape({3, 2}), {1, 2, 3, 4, 5, 6}));
  ExpectSame(RunOne("Reshape", {Floats({1}), Ints({})}), Tensor::Scalar(1.0f));
  ExpectSame(RunOne("Reshape", {Zeros(Shape({0})), Ints({0, -1})}), Zeros(Shape({0, 0})));
  ExpectSame(RunOne("Reshape", {Zeros(Shape({0})), Ints({2, -1})}), Zeros(Shape({2, 0})));
}

TEST_F(ShapeKernels, ReshapeRefusesWhatDoesNotFit) {
  const auto error = [&](const Tensor& sizes) {
    return std::string(Run("Reshape", {Floats({1, 2, 3}), sizes}).status().message());
  };
  EXPECT_EQ(error(Ints({2})),
            "Input to reshape is a tensor with 3 values, but the requested shape has 2");
  EXPECT_EQ(error(Ints({-1, -1})), "Only one input size may be -1, not both 0 and 1");
  EXPECT_EQ(error(Ints({-1, 2})),
            "Input to reshape is a tensor with 3 values, but the requested shape requires a "
            "multiple of 2");
  EXPECT_EQ(error(Ints({-2, 2})), "Size 0 must be non-negative, not -2");
  EXPECT_EQ(error(Tensor::Of<int32_t>(Shape({1, 1}), {3})), "sizes input must be 1-D, not [1,1]");
  EXPECT_THAT(error(Longs({int64_t{1} << 40, int64_t{1} << 40})), HasSubstr("2**63 - 1"));
}

TEST_F(ShapeKernels, ExpandDimsCountsFromBothEnds) {
  const Tensor x = Floats({1, 2});
  ExpectSame(RunOne("ExpandDims", {x, Tensor::Scalar<int32_t>(0)}), x.Reshaped(Shape({1, 2})));
  ExpectSame(RunOne("ExpandDims", {x, Tensor::Scalar<int64_t>(-1)}), x.Reshaped(Shape({2, 1})));
  EXPECT_EQ(Run("ExpandDims", {x, Tensor::Scalar<int32_t>(3)}).status().message(),
            "Tried to expand dim index 3 for tensor with 1 dimensions.");
  EXPECT_EQ(Run("ExpandDims", {x, Ints({1, 1})}).status().message(),
            "'dim' must be a tensor with a single value");
}

TEST_F(ShapeKernels, SqueezeDropsOnes) {
  const Tensor x = Zeros(Shape({1, 2, 1}));
  ExpectSame(RunOne("Squeeze", {x}), Zeros(Shape({2})));
  const std::vector<int64_t> last = {-1};
  ExpectSame(RunOne(OpNode("Squeeze").Attr("squeeze_dims", absl::MakeConstSpan(last)), {x}),
             Zeros(Shape({1, 2})));
  const std::vector<int64_t> wide = {1};
  EXPECT_EQ(Run(OpNode("Squeeze").Attr("squeeze_dims", absl::MakeConstSpan(wide)), {x})
                .status()
                .message(),
            "Can not squeeze dim[1], expected a dimension of 1, got 2");
}

TEST_F(ShapeKernels, BitcastMovesBetweenSizes) {
  const Tensor one = Floats({1});
  const Tensor bytes = RunOne(OpNode("Bitcast").Attr("type", DType::kUInt8), {one});
  ExpectSame(bytes, Tensor::Of<uint8_t>(Shape({1, 4}), {0, 0, 0x80, 0x3f}));
  ExpectSame(RunOne(OpNode("Bitcast").Attr("type", DType::kFloat), {bytes}), one);
  ExpectSame(RunOne(OpNode("Bitcast").Attr("type", DType::kInt32), {one}), Ints({0x3f800000}));
  EXPECT_THAT(
      Run(OpNode("Bitcast").Attr("type", DType::kDouble), {Floats({1, 2, 3})}).status().message(),
      HasSubstr("Cannot bitcast from float to double"));
}

TEST_F(ShapeKernels, ConcatOffsetAddsUpAlongTheAxis) {
  const auto offsets =
      Run("ConcatOffset", {Tensor::Scalar<int32_t>(1), Ints({2, 3}), Ints({2, 4}), Ints({2, 5})});
  ASSERT_TRUE(offsets.ok()) << offsets.status();
  ExpectSame((*offsets)[0], Ints({0, 0}));
  ExpectSame((*offsets)[1], Ints({0, 3}));
  ExpectSame((*offsets)[2], Ints({0, 7}));
  EXPECT_EQ(
      Run("ConcatOffset", {Tensor::Scalar<int32_t>(0), Ints({2, 3}), Ints({2, 4})})
          .status()
          .message(),
      "All dimensions except 0 must match. Input 1 has shape [2 4] and doesn't match input 0 with "
      "shape [2 3].");
}

TEST_F(FillKernels, FillRepeatsAnyType) {
  ExpectSame(RunOne("Fill", {Ints({2, 2}), Tensor::Scalar<int64_t>(7)}),
             Tensor::Of<int64_t>(Shape({2, 2}), {7, 7, 7, 7}));
  ExpectSame(RunOne("Fill", {Longs({3}), Tensor::Scalar("ab")}),
             Tensor::Vector<std::string>({"ab", "ab", "ab"}));
  ExpectSame(RunOne("Fill", {Ints({}), Tensor::Scalar(2.0f)}), Tensor::Scalar(2.0f));
  ExpectSame(RunOne("Fill", {Ints({0, 3}), Tensor::Scalar(2.0f)}), Zeros(Shape({0, 3})));
  const Tensor big = RunOne("Fill", {Ints({100001}), Tensor::Scalar(2.0f)});
  ASSERT_EQ(big.num_elements(), 100001);
  for (const float x : big.values<float>()) ASSERT_EQ(x, 2.0f);
}

TEST_F(FillKernels, FillRefusesImpossibleShapesBeforeAllocating) {
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_EQ(Run("Fill", {Ints({-1}), one}).status().message(), "Dimension -1 must be >= 0");
  EXPECT_EQ(Run("Fill", {Longs({int64_t{1} << 40, int64_t{1} << 40}), one}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Run("Fill", {Longs({int64_t{1} << 45}), one}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Run("Fill", {Ints({3}), Floats({1, 2})}).status().message(),
            "value must represent a scalar, got shape [2]");
}

TEST_F(FillKernels, ZerosAndOnesKeepTheShape) {
  ExpectSame(RunOne("ZerosLike", {Floats({1, 2})}), Floats({0, 0}));
  ExpectSame(RunOne("ZerosLike", {Tensor::Vector<std::string>({"a"})}),
             Tensor::Vector<std::string>({""}));
  ExpectSame(RunOne("OnesLike", {Floats({5, 2})}), Floats({1, 1}));
  ExpectSame(RunOne("OnesLike", {Tensor::Vector<bool>({false})}), Tensor::Vector<bool>({true}));
  ExpectSame(RunOne("OnesLike", {Tensor::Scalar<uint16_t>(9)}), Tensor::Scalar<uint16_t>(1));
  ExpectSame(RunOne("OnesLike", {Tensor::Scalar<std::complex<double>>({9, 9})}),
             Tensor::Scalar<std::complex<double>>({1, 0}));
}

TEST_F(FillKernels, ZerosLikeDoesNotTouchASharedInput) {
  const Tensor x = Floats({1, 2});
  RunOne("ZerosLike", {x});
  ExpectSame(x, Floats({1, 2}));
}

TEST_F(FillKernels, EmptyIsZeroWhenAsked) {
  ExpectSame(RunOne(OpNode("Empty").Attr("dtype", DType::kFloat).Attr("init", true), {Ints({2})}),
             Floats({0, 0}));
}

TEST_F(FillKernels, OneHotLeavesOutOfRangeRowsOff) {
  const std::vector<OpInput> inputs = {Tensor::Of<int32_t>(Shape({2, 2}), {0, 2, 1, -1}),
                                       Tensor::Scalar<int32_t>(3), Tensor::Scalar(1.0f),
                                       Tensor::Scalar(0.0f)};
  ExpectSame(RunOne("OneHot", inputs),
             Tensor::Of<float>(Shape({2, 2, 3}), {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0}));
  ExpectSame(RunOne(OpNode("OneHot").Attr("axis", 1), inputs),
             Tensor::Of<float>(Shape({2, 3, 2}), {1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(Run("OneHot", {Ints({1}), Tensor::Scalar<int32_t>(-1), Tensor::Scalar(1.0f),
                           Tensor::Scalar(0.0f)})
                .status()
                .message(),
            "depth must be non-negative, got: -1");
}

TEST_F(FillKernels, RangeCountsUpAndDown) {
  const auto range = [&](auto start, auto limit, auto delta) {
    return RunOne("Range", {Tensor::Scalar(start), Tensor::Scalar(limit), Tensor::Scalar(delta)});
  };
  ExpectSame(range(int32_t{0}, int32_t{5}, int32_t{2}), Ints({0, 2, 4}));
  ExpectSame(range(int64_t{3}, int64_t{0}, int64_t{-1}), Longs({3, 2, 1}));
  ExpectSame(range(1.0f, 2.0f, 0.25f), Floats({1, 1.25, 1.5, 1.75}));
  ExpectSame(range(int32_t{2}, int32_t{2}, int32_t{1}), Ints({}));
  ExpectSame(range(std::numeric_limits<int32_t>::max() - 1, std::numeric_limits<int32_t>::max(),
                   int32_t{7}),
             Ints({std::numeric_limits<int32_t>::max() - 1}));
}

TEST_F(FillKernels, RangeRefusesEndlessAndHugeOnes) {
  const auto error = [&](auto start, auto limit, auto delta) {
    return Run("Range", {Tensor::Scalar(start), Tensor::Scalar(limit), Tensor::Scalar(delta)})
        .status();
  };
  EXPECT_EQ(error(int32_t{0}, int32_t{5}, int32_t{0}).message(), "Requires delta != 0: 0");
  EXPECT_EQ(error(int32_t{0}, int32_t{5}, int32_t{-1}).message(),
            "Requires start >= limit when delta < 0: 0/5");
  EXPECT_EQ(error(int32_t{5}, int32_t{0}, int32_t{1}).message(),
            "Requires start <= limit when delta > 0: 5/0");
  EXPECT_THAT(error(0.0f, 1e30f, 1e-30f).message(),
              HasSubstr("Requires ((limit - start) / delta)"));
  EXPECT_EQ(error(0.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f).message(),
            "Requires start <= limit when delta > 0: 0/nan");
  EXPECT_EQ(
      error(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), int64_t{1})
          .code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(error(int64_t{0}, int64_t{1} << 60, int64_t{1}).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(FillKernels, LinSpaceEndsExactlyAtStop) {
  const auto space = [&](float start, float stop, int32_t num) {
    return Run("LinSpace", {Tensor::Scalar(start), Tensor::Scalar(stop), Tensor::Scalar(num)});
  };
  ExpectSame((*space(0, 1, 5))[0], Floats({0, 0.25, 0.5, 0.75, 1}));
  ExpectSame((*space(3, 9, 1))[0], Floats({3}));
  EXPECT_EQ(space(0, 1, 0).status().message(), "Requires num > 0: 0");
}

TEST_F(FillKernels, BucketizeCountsTheBoundariesReached) {
  const std::vector<float> boundaries = {0, 10, 100};
  const OpNode node = OpNode("Bucketize").Attr("boundaries", boundaries);
  ExpectSame(RunOne(node, {Ints({-5, 0, 9, 10, 10000})}), Ints({0, 1, 1, 2, 3}));
}

}  // namespace
}  // namespace tensorfleet
