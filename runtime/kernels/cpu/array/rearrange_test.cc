// Tests of the kernels that move elements around or repeat them.
#include <numeric>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using RearrangeKernels = OpTest;
using PadKernels = OpTest;
using SpaceKernels = OpTest;

Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor Matrix(int64_t rows, int64_t cols, std::initializer_list<int32_t> values) {
  return Tensor::Of<int32_t>(Shape({rows, cols}), values);
}

template <typename T>
Tensor Counting(const Shape& shape) {
  std::vector<T> values(shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
  return Tensor::Vector<T>(values).Reshaped(shape);
}

// The plain definition of a transposition, to compare with.
template <typename T>
Tensor SlowTranspose(const Tensor& x, const std::vector<int>& perm) {
  std::vector<int64_t> dims, index(perm.size(), 0);
  for (const int axis : perm) dims.push_back(x.dim(axis));
  std::vector<T> values;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    std::vector<int64_t> in(perm.size());
    for (size_t d = 0; d < perm.size(); ++d) in[perm[d]] = index[d];
    int64_t offset = 0;
    for (size_t d = 0; d < perm.size(); ++d) offset = offset * x.dim(d) + in[d];
    values.push_back(x.values<T>()[offset]);
    for (int d = static_cast<int>(perm.size()) - 1; d >= 0 && ++index[d] == dims[d]; --d)
      index[d] = 0;
  }
  return Tensor::Vector<T>(values).Reshaped(*Shape::Make(dims));
}

TEST_F(RearrangeKernels, TransposeMatchesItsDefinitionForManyShapesAndTypes) {
  const std::vector<std::pair<Shape, std::vector<int>>> cases = {
      {Shape({2, 3}), {1, 0}},
      {Shape({33, 70}), {1, 0}},
      {Shape({4, 1, 5}), {2, 1, 0}},
      {Shape({3, 4, 5, 6}), {0, 2, 1, 3}},
      {Shape({3, 4, 5, 6}), {3, 1, 2, 0}},
      {Shape({40, 3, 50}), {2, 0, 1}},
      {Shape({0, 3}), {1, 0}},
      {Shape({200, 300}), {1, 0}},
  };
  for (const auto& c : cases) {
    const Shape& shape = c.first;
    const std::vector<int>& perm = c.second;
    std::vector<int32_t> perm32(perm.begin(), perm.end());
    const Tensor p = Tensor::Vector<int32_t>(perm32);
    const auto check = [&](auto zero) {
      using T = decltype(zero);
      const Tensor x = Counting<T>(shape);
      ExpectSame(RunOne("Transpose", {x, p}), SlowTranspose<T>(x, perm));
    };
    check(uint8_t());
    check(int16_t());
    check(float());
    check(double());
    check(std::complex<double>());
  }
}

TEST_F(RearrangeKernels, TransposeMovesStringsToo) {
  ExpectSame(RunOne("Transpose",
                    {Tensor::Of<std::string>(Shape({2, 2}), {"a", "b", "c", "d"}), Ints({1, 0})}),
             Tensor::Of<std::string>(Shape({2, 2}), {"a", "c", "b", "d"}));
}

TEST_F(RearrangeKernels, ConjugateTransposeConjugates) {
  using C = std::complex<float>;
  ExpectSame(RunOne("ConjugateTranspose",
                    {Tensor::Of<C>(Shape({1, 2}), {C(1, 2), C(3, -4)}), Ints({1, 0})}),
             Tensor::Of<C>(Shape({2, 1}), {C(1, -2), C(3, 4)}));
}

TEST_F(RearrangeKernels, TransposeRefusesWhatIsNoPermutation) {
  const Tensor x = Tensor::Of<float>(Shape({1, 2}), {1, 2});
  EXPECT_EQ(Run("Transpose", {x, Ints({0, 0})}).status().message(), "1 is missing from {0,0}.");
  EXPECT_EQ(Run("Transpose", {x, Ints({0, 2})}).status().message(), "2 is out of range [0 .. 2)");
  EXPECT_EQ(Run("Transpose", {x, Ints({0})}).status().message(),
            "transpose expects a vector of size 2. But input(1) is a vector of size 1");
}

TEST_F(RearrangeKernels, InvertPermutationInverts) {
  ExpectSame(RunOne("InvertPermutation", {Ints({2, 0, 1})}), Ints({1, 2, 0}));
  EXPECT_EQ(Run("InvertPermutation", {Ints({0, 0})}).status().message(),
            "0 is duplicated in the input.");
  EXPECT_EQ(Run("InvertPermutation", {Ints({0, 3})}).status().message(),
            "3 is not between 0 and 2");
}

TEST_F(RearrangeKernels, ReverseTurnsAxesAround) {
  const Tensor x = Matrix(2, 3, {1, 2, 3, 4, 5, 6});
  ExpectSame(RunOne("ReverseV2", {x, Ints({1})}), Matrix(2, 3, {3, 2, 1, 6, 5, 4}));
  ExpectSame(RunOne("ReverseV2", {x, Ints({-2})}), Matrix(2, 3, {4, 5, 6, 1, 2, 3}));
  ExpectSame(RunOne("ReverseV2", {x, Ints({})}), x);
  ExpectSame(RunOne("Reverse", {x, Tensor::Vector<bool>({true, true})}),
             Matrix(2, 3, {6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(Run("ReverseV2", {Floats({1, 2}), Ints({0, 0})}).status().message(),
            "axis 0 specified more than once.");
}

TEST_F(RearrangeKernels, ReverseSequenceTurnsOnlyTheSequence) {
  const Tensor x = Matrix(2, 4, {1, 2, 3, 4, 5, 6, 7, 8});
  ExpectSame(RunOne(OpNode("ReverseSequence").Attr("seq_dim", 1), {x, Ints({3, 0})}),
             Matrix(2, 4, {3, 2, 1, 4, 5, 6, 7, 8}));
  EXPECT_EQ(Run(OpNode("ReverseSequence").Attr("seq_dim", 1), {x, Ints({5, 0})}).status().message(),
            "seq_lens(0) > input.dims(1)");
}

TEST_F(RearrangeKernels, RollGoesAround) {
  const Tensor x = Matrix(2, 3, {1, 2, 3, 4, 5, 6});
  ExpectSame(RunOne("Roll", {x, Tensor::Scalar<int32_t>(1), Tensor::Scalar<int32_t>(1)}),
             Matrix(2, 3, {3, 1, 2, 6, 4, 5}));
  ExpectSame(RunOne("Roll", {x, Ints({-1, 1, 3}), Ints({0, 1, -1})}),
             Matrix(2, 3, {6, 4, 5, 3, 1, 2}));
  EXPECT_EQ(Run("Roll", {Floats({1, 2}), Ints({1}), Ints({2})}).status().message(),
            "axis 2 is out of range");
}

TEST_F(PadKernels, TileRepeats) {
  ExpectSame(RunOne("Tile", {Matrix(1, 2, {1, 2}), Ints({2, 2})}),
             Matrix(2, 4, {1, 2, 1, 2, 1, 2, 1, 2}));
  ExpectSame(RunOne("Tile", {Tensor::Vector<std::string>({"a"}), Tensor::Vector<int64_t>({3})}),
             Tensor::Vector<std::string>({"a", "a", "a"}));
  ExpectSame(RunOne("Tile", {Ints({1}), Ints({0})}), Ints({}));
  EXPECT_EQ(Run("Tile", {Floats({1, 2}), Ints({-1})}).status().message(),
            "Expected multiples[0] >= 0, but got -1");
  EXPECT_EQ(
      Run("Tile", {Floats({1, 2}), Tensor::Vector<int64_t>({int64_t{1} << 62})}).status().code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      Run("Tile", {Floats({1, 2}), Tensor::Vector<int64_t>({int64_t{1} << 50})}).status().code(),
      absl::StatusCode::kResourceExhausted);
}

TEST_F(PadKernels, BroadcastToFillsOnesAndNewAxes) {
  ExpectSame(RunOne("BroadcastTo", {Tensor::Of<int32_t>(Shape({2, 1}), {1, 2}), Ints({2, 2, 3})}),
             Tensor::Of<int32_t>(Shape({2, 2, 3}), {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  ExpectSame(RunOne("BroadcastTo", {Tensor::Scalar<int32_t>(4), Ints({2})}), Ints({4, 4}));
  ExpectSame(RunOne("BroadcastTo", {Ints({1}), Ints({0})}), Ints({}));
  EXPECT_EQ(Run("BroadcastTo", {Floats({1, 2}), Ints({3})}).status().message(),
            "Incompatible shapes: [2] vs. [3]");
}

TEST_F(PadKernels, PadSurroundsWithAValue) {
  const Tensor x = Matrix(1, 2, {1, 2});
  const Tensor paddings = Matrix(2, 2, {1, 0, 0, 2});
  ExpectSame(RunOne("Pad", {x, paddings}), Matrix(2, 4, {0, 0, 0, 0, 1, 2, 0, 0}));
  ExpectSame(RunOne("PadV2", {x, paddings, Tensor::Scalar<int32_t>(9)}),
             Matrix(2, 4, {9, 9, 9, 9, 1, 2, 9, 9}));
  EXPECT_EQ(Run("Pad", {Floats({1, 2}), Matrix(1, 2, {-1, 0})}).status().message(),
            "Paddings must be non-negative: -1 0");
  EXPECT_EQ(Run("Pad", {Floats({1, 2}), Matrix(2, 2, {1, 0, 1, 1})}).status().message(),
            "The first dimension of paddings must be the rank of inputs[2,2] [2]");
  EXPECT_EQ(Run("Pad", {Floats({1, 2}), Ints({1, 0})}).status().message(),
            "paddings must be a matrix with 2 columns: [2]");
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Run("Pad", {Floats({1, 2}), Tensor::Of<int64_t>(Shape({1, 2}), {most, most})})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(PadKernels, MirrorPadReflectsWithOrWithoutTheEdge) {
  const Tensor x = Matrix(2, 3, {1, 2, 3, 4, 5, 6});
  const Tensor paddings = Matrix(2, 2, {1, 1, 2, 2});
  ExpectSame(RunOne(OpNode("MirrorPad").Attr("mode", "REFLECT"), {x, paddings}),
             Matrix(4, 7, {6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1,
                           6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1}));
  ExpectSame(RunOne(OpNode("MirrorPad").Attr("mode", "SYMMETRIC"), {x, paddings}),
             Matrix(4, 7, {2, 1, 1, 2, 3, 3, 2, 2, 1, 1, 2, 3, 3, 2,
                           5, 4, 4, 5, 6, 6, 5, 5, 4, 4, 5, 6, 6, 5}));
  EXPECT_EQ(Run(OpNode("MirrorPad").Attr("mode", "REFLECT"), {Floats({1, 2}), Matrix(1, 2, {2, 0})})
                .status()
                .message(),
            "paddings must be less than the dimension size: 2, 0 not less than 2");
}

TEST_F(SpaceKernels, DepthAndSpaceChangePlaces) {
  const Tensor space = Counting<int32_t>(Shape({1, 4, 4, 1}));
  const Tensor depth = Tensor::Of<int32_t>(Shape({1, 2, 2, 4}),
                                           {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15});
  ExpectSame(RunOne(OpNode("SpaceToDepth").Attr("block_size", 2), {space}), depth);
  ExpectSame(RunOne(OpNode("DepthToSpace").Attr("block_size", 2), {depth}), space);
  EXPECT_THAT(Run(OpNode("DepthToSpace").Attr("block_size", 3), {depth}).status().message(),
              ::testing::HasSubstr("Input depth dimension 4 should be divisible by: 3 * 3"));
}

TEST_F(SpaceKernels, BatchAndSpaceChangePlaces) {
  const Tensor space = Tensor::Of<int32_t>(Shape({1, 3, 1}), {1, 2, 3});
  const Tensor paddings = Matrix(1, 2, {0, 1});
  const Tensor batch = Tensor::Of<int32_t>(Shape({2, 2, 1}), {1, 3, 2, 0});
  ExpectSame(RunOne("SpaceToBatchND", {space, Ints({2}), paddings}), batch);
  ExpectSame(RunOne("BatchToSpaceND", {batch, Ints({2}), paddings}), space);
  EXPECT_THAT(Run("BatchToSpaceND", {batch, Ints({3}), paddings}).status().message(),
              ::testing::HasSubstr("is not divisible by product of block sizes (3)"));
}

TEST_F(RearrangeKernels, MirrorPadGradAddsTheImagesToWhatTheyAreOf) {
  const Tensor paddings = Tensor::Of<int32_t>({1, 2}, {2, 1});
  const Tensor g = Tensor::Vector<float>({1, 10, 100, 1000, 10000, 100000});
  const auto grad = [&](const char* mode) {
    return RunOne(OpNode("MirrorPadGrad").Attr("mode", mode), {g, paddings});
  };
  // Of a, b, c: c b [a b c] b, and b a [a b c] c.
  ExpectSame(grad("REFLECT"), Tensor::Vector<float>({100, 101010, 10001}));
  ExpectSame(grad("SYMMETRIC"), Tensor::Vector<float>({110, 1001, 110000}));
  EXPECT_EQ(
      Run(OpNode("MirrorPadGrad").Attr("mode", "REFLECT"), {g, Tensor::Of<int32_t>({1, 2}, {3, 1})})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensorfleet
