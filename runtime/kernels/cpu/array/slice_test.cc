// Tests of the kernels that join tensors, cut them and slice them.
#include <numeric>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using JoinKernels = OpTest;
using SplitKernels = OpTest;
using SliceKernels = OpTest;

Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Longs(std::initializer_list<int64_t> values) { return Tensor::Vector<int64_t>(values); }
Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor Strings(std::initializer_list<std::string> v) { return Tensor::Vector<std::string>(v); }
Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

// 0, 1, 2, ... under `shape`.
Tensor Counting(const Shape& shape) {
  std::vector<int32_t> values(shape.num_elements());
  std::iota(values.begin(), values.end(), 0);
  return Tensor::Vector<int32_t>(values).Reshaped(shape);
}

TEST_F(JoinKernels, ConcatGoesAlongAnyAxis) {
  const Tensor a = Tensor::Of<float>(Shape({2, 1}), {1, 2});
  const Tensor b = Tensor::Of<float>(Shape({2, 2}), {3, 4, 5, 6});
  ExpectSame(RunOne("ConcatV2", {a, b, Int(1)}),
             Tensor::Of<float>(Shape({2, 3}), {1, 3, 4, 2, 5, 6}));
  ExpectSame(RunOne("ConcatV2", {a, b, Tensor::Scalar<int64_t>(-1)}),
             Tensor::Of<float>(Shape({2, 3}), {1, 3, 4, 2, 5, 6}));
  ExpectSame(RunOne("Concat", {Int(0), a, a}), Tensor::Of<float>(Shape({4, 1}), {1, 2, 1, 2}));
  ExpectSame(RunOne("ConcatV2", {Strings({"a"}), Strings({}), Strings({"b", "c"}), Int(0)}),
             Strings({"a", "b", "c"}));
  ExpectSame(RunOne("ConcatV2", {Floats({}), Floats({7}), Int(0)}), Floats({7}));
  ExpectSame(RunOne("ConcatV2", {Floats({}), Floats({}), Int(0)}), Floats({}));
}

TEST_F(JoinKernels, ConcatOfManyElementsKeepsTheirPlaces) {
  const Tensor x = Counting(Shape({300, 70}));
  const Tensor y = Counting(Shape({300, 55}));
  const Tensor out = RunOne("ConcatV2", {x, y, Int(1)});
  ASSERT_EQ(out.shape(), Shape({300, 125}));
  for (int r = 0; r < 300; ++r) {
    for (int c = 0; c < 125; ++c) {
      const int32_t want = c < 70 ? r * 70 + c : r * 55 + c - 70;
      ASSERT_EQ(out.values<int32_t>()[r * 125 + c], want) << r << "," << c;
    }
  }
}

TEST_F(JoinKernels, ConcatNamesWhatDoesNotFit) {
  const Tensor a = Tensor::Of<float>(Shape({1, 1}), {1});
  EXPECT_EQ(
      Run("ConcatV2", {a, Floats({1}), Int(0)}).status().message(),
      "ConcatOp : Ranks of all input tensors should match: shape[0] = [1,1] vs. shape[1] = [1]");
  EXPECT_EQ(
      Run("ConcatV2", {a, Tensor::Of<float>(Shape({1, 2}), {1, 2}), Int(0)}).status().message(),
      "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [1,1] vs. shape[1] = "
      "[1,2]");
  EXPECT_EQ(Run("ConcatV2", {a, a, Int(4)}).status().message(),
            "ConcatOp : Expected concatenating dimensions in the range [-2, 2), but got 4");
  EXPECT_EQ(Run("ConcatV2", {Int(1), Int(1), Int(0)}).status().message(),
            "ConcatOp : Can't concatenate scalars (use tf.stack instead)");
}

TEST_F(JoinKernels, PackMakesAnAxis) {
  ExpectSame(RunOne("Pack", {Int(1), Int(2), Int(3)}), Ints({1, 2, 3}));
  ExpectSame(RunOne(OpNode("Pack").Attr("axis", -1), {Ints({1, 2}), Ints({3, 4})}),
             Tensor::Of<int32_t>(Shape({2, 2}), {1, 3, 2, 4}));
  ExpectSame(RunOne("Pack", {Tensor::Scalar("only")}), Strings({"only"}));
  EXPECT_EQ(Run("Pack", {Floats({1}), Floats({1, 2})}).status().message(),
            "Shapes of all inputs must match: values[0].shape = [1] != values[1].shape = [2]");
  EXPECT_EQ(Run(OpNode("Pack").Attr("axis", 3), {Floats({1}), Floats({1})}).status().message(),
            "axis = 3 not in [-2, 2)");
}

TEST_F(JoinKernels, ParallelConcatStacksRows) {
  const Tensor a = Tensor::Of<int32_t>(Shape({1, 2}), {1, 2});
  const Tensor both = Tensor::Of<int32_t>(Shape({2, 2}), {1, 2, 1, 2});
  ExpectSame(RunOne(OpNode("ParallelConcat").Attr("shape", PartialShape({2, 2})), {a, a}), both);
  const Tensor start = RunOne(OpNode("_ParallelConcatStart")
                                  .Attr("shape", PartialShape({2, 2}))
                                  .Attr("dtype", DType::kInt32),
                              {});
  const Tensor first = RunOne(OpNode("_ParallelConcatUpdate").Attr("loc", 0), {start, a});
  ExpectSame(RunOne(OpNode("_ParallelConcatUpdate").Attr("loc", 1), {first, a}), both);
}

TEST_F(SplitKernels, UnpackIsTheInverseOfPack) {
  const Tensor x = Tensor::Of<int32_t>(Shape({2, 3}), {1, 2, 3, 4, 5, 6});
  const auto rows = Run(OpNode("Unpack").Attr("num", 2), {x});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ExpectSame((*rows)[1], Ints({4, 5, 6}));
  const auto columns = Run(OpNode("Unpack").Attr("num", 3).Attr("axis", -1), {x});
  ASSERT_TRUE(columns.ok()) << columns.status();
  ExpectSame((*columns)[2], Ints({3, 6}));
  EXPECT_EQ(Run(OpNode("Unpack").Attr("num", 3), {x}).status().message(),
            "Input shape axis 0 must equal 3, got shape [2,3]");
}

TEST_F(SplitKernels, SplitCutsEvenly) {
  const Tensor x = Counting(Shape({2, 4}));
  const auto parts = Run(OpNode("Split").Attr("num_split", 2), {Int(1), x});
  ASSERT_TRUE(parts.ok()) << parts.status();
  ExpectSame((*parts)[1], Tensor::Of<int32_t>(Shape({2, 2}), {2, 3, 6, 7}));
  EXPECT_EQ(Run(OpNode("Split").Attr("num_split", 3), {Int(0), x}).status().message(),
            "Number of ways to split should evenly divide the split dimension, but got split_dim 0 "
            "(size = 2) and num_split 3");
  EXPECT_EQ(Run(OpNode("Split").Attr("num_split", 3), {Int(3), x}).status().message(),
            "-input rank(-2) <= split_dim < input rank (2), but got 3");
}

TEST_F(SplitKernels, SplitVTakesSizesAndOneOpenOne) {
  const Tensor x = Counting(Shape({6}));
  const auto parts = Run(OpNode("SplitV").Attr("num_split", 3), {x, Longs({1, -1, 2}), Int(0)});
  ASSERT_TRUE(parts.ok()) << parts.status();
  ExpectSame((*parts)[0], Ints({0}));
  ExpectSame((*parts)[1], Ints({1, 2, 3}));
  ExpectSame((*parts)[2], Ints({4, 5}));
  const auto error = [&](std::initializer_list<int32_t> sizes) {
    return std::string(
        Run(OpNode("SplitV").Attr("num_split", 2), {Floats({1, 2, 3}), Ints(sizes), Int(0)})
            .status()
            .message());
  };
  EXPECT_EQ(error({-1, -1}), "There can only be one -1 in the input.");
  EXPECT_THAT(error({-1, 4}), HasSubstr("Got: 4"));
  EXPECT_THAT(error({1, 1}), HasSubstr("Determined shape must either match input shape"));
  EXPECT_THAT(error({4, -2}), HasSubstr("Got: 2"));
  EXPECT_THAT(error({5, -2}), HasSubstr("Split size at index 1 must be >= 0. Got: -2"));
}

TEST_F(SplitKernels, RowsOfAlignedSizeShareTheInput) {
  const Tensor x = Counting(Shape({4, 16}));  // rows of 64 bytes
  const auto parts = Run(OpNode("Split").Attr("num_split", 2), {Int(0), x});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_TRUE((*parts)[1].SharesBufferWith(x));
  EXPECT_EQ((*parts)[1].values<int32_t>()[0], 32);
}

TEST_F(SliceKernels, SliceCutsABox) {
  const Tensor x = Counting(Shape({3, 4}));
  ExpectSame(RunOne("Slice", {x, Ints({1, 1}), Ints({2, 2})}),
             Tensor::Of<int32_t>(Shape({2, 2}), {5, 6, 9, 10}));
  ExpectSame(RunOne("Slice", {x, Longs({2, 0}), Longs({-1, -1})}),
             Tensor::Of<int32_t>(Shape({1, 4}), {8, 9, 10, 11}));
  ExpectSame(RunOne("Slice", {x, Ints({3, 0}), Ints({0, 4})}),
             Tensor::Of<int32_t>(Shape({0, 4}), {}));
  ExpectSame(RunOne("Slice", {x, Ints({0, 0}), Ints({3, 4})}), x);
  EXPECT_EQ(Run("Slice", {Floats({1, 2, 3}), Ints({2}), Ints({2})}).status().message(),
            "Expected size[0] in [0, 1], but got 2");
  EXPECT_EQ(Run("Slice", {Floats({1, 2, 3}), Ints({-2}), Ints({2})}).status().message(),
            "Expected begin[0] in [0, 3], but got -2");
  EXPECT_EQ(Run("Slice", {Floats({1, 2, 3}), Ints({1, 1}), Ints({2, 1})}).status().message(),
            "Expected begin and size arguments to be 1-D tensors of size 1, but got shapes [2] and "
            "[2] instead.");
}

struct Masks {
  int begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

OpNode SliceNode(const char* op, const Masks& masks) {
  return OpNode(op)
      .Attr("begin_mask", masks.begin)
      .Attr("end_mask", masks.end)
      .Attr("ellipsis_mask", masks.ellipsis)
      .Attr("new_axis_mask", masks.new_axis)
      .Attr("shrink_axis_mask", masks.shrink);
}

TEST_F(SliceKernels, StridedSliceReadsLikePython) {
  const Tensor x = Counting(Shape({3, 4}));
  const auto slice = [&](const Masks& masks, std::initializer_list<int32_t> begin,
                         std::initializer_list<int32_t> end,
                         std::initializer_list<int32_t> strides) {
    return RunOne(SliceNode("StridedSlice", masks), {x, Ints(begin), Ints(end), Ints(strides)});
  };
  // x[1], x[-1, 2], x[:, 1], x[::2, ::-1], x[..., newaxis], x[2:0:-1, 3], x[5:], x[newaxis, 1, ...,
  // 2]
  ExpectSame(slice({.shrink = 1}, {1}, {2}, {1}), Ints({4, 5, 6, 7}));
  ExpectSame(slice({.shrink = 3}, {-1, 2}, {0, 3}, {1, 1}), Int(10));
  ExpectSame(slice({.begin = 1, .end = 1, .shrink = 2}, {0, 1}, {0, 2}, {1, 1}), Ints({1, 5, 9}));
  ExpectSame(slice({.begin = 3, .end = 3}, {0, 0}, {0, 0}, {2, -1}),
             Tensor::Of<int32_t>(Shape({2, 4}), {3, 2, 1, 0, 11, 10, 9, 8}));
  ExpectSame(slice({.ellipsis = 1, .new_axis = 2}, {0, 0}, {0, 0}, {1, 1}),
             x.Reshaped(Shape({3, 4, 1})));
  ExpectSame(slice({.shrink = 2}, {2, 3}, {0, 4}, {-1, 1}), Ints({11, 7}));
  ExpectSame(slice({.end = 1}, {5}, {0}, {1}), Tensor::Of<int32_t>(Shape({0, 4}), {}));
  ExpectSame(
      slice({.ellipsis = 4, .new_axis = 1, .shrink = 10}, {0, 1, 0, 2}, {0, 2, 0, 3}, {1, 1, 1, 1}),
      Ints({6}));
}

TEST_F(SliceKernels, StridedSliceTakesExtremeBoundsAndStrides) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t least = std::numeric_limits<int64_t>::min();
  const Tensor x = Ints({0, 1, 2});
  ExpectSame(RunOne("StridedSlice", {x, Longs({least}), Longs({most}), Longs({most})}), Ints({0}));
  ExpectSame(RunOne("StridedSlice", {x, Longs({most}), Longs({least}), Longs({least})}), Ints({2}));
}

TEST_F(SliceKernels, StridedSliceExplainsWhatIsWrong) {
  const auto error = [&](const Masks& masks, std::initializer_list<int32_t> begin,
                         std::initializer_list<int32_t> strides) {
    return std::string(Run(SliceNode("StridedSlice", masks),
                           {Floats({1, 2, 3}), Ints(begin), Ints(begin), Ints(strides)})
                           .status()
                           .message());
  };
  EXPECT_EQ(error({.shrink = 1}, {5}, {1}), "slice index 5 of dimension 0 out of bounds.");
  EXPECT_EQ(error({}, {0}, {0}), "strides[0] must be non-zero");
  EXPECT_EQ(error({}, {0, 0}, {1, 1}),
            "Index out of range using input dim 1; input has only 1 dims");
  EXPECT_EQ(error({.ellipsis = 3}, {0, 0}, {1, 1}), "Multiple ellipses in slice spec not allowed");
  EXPECT_EQ(error({.shrink = 1}, {0}, {-1}), "only stride 1 allowed on non-range indexing.");
}

TEST_F(SliceKernels, StridedSliceGradPutsItsInputBack) {
  const Masks masks = {.begin = 1, .end = 1, .shrink = 2};
  ExpectSame(RunOne(SliceNode("StridedSliceGrad", masks),
                    {Ints({2, 3}), Ints({0, 1}), Ints({0, 2}), Ints({1, 1}), Floats({7, 8})}),
             Tensor::Of<float>(Shape({2, 3}), {0, 7, 0, 0, 8, 0}));
  EXPECT_EQ(Run(SliceNode("StridedSliceGrad", masks),
                {Ints({2, 3}), Ints({0, 1}), Ints({0, 2}), Ints({1, 1}), Floats({7})})
                .status()
                .message(),
            "shape of dy was [1] instead of [2]");
}

}  // namespace
}  // namespace tensorfleet
