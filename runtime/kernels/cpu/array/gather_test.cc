// Tests of the kernels that pick entries by number, put them back, and compare them.
#include <limits>
#include <map>
#include <numeric>

#include "runtime/base/memory_limit.h"
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using GatherKernels = OpTest;
using ScatterKernels = OpTest;
using PartitionKernels = OpTest;
using SetKernels = OpTest;
using DiagKernels = OpTest;

Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Longs(std::initializer_list<int64_t> values) { return Tensor::Vector<int64_t>(values); }
Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor Strings(std::initializer_list<std::string> v) { return Tensor::Vector<std::string>(v); }
Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }
Tensor IntMatrix(int64_t rows, int64_t cols, std::initializer_list<int32_t> values) {
  return Tensor::Of<int32_t>(Shape({rows, cols}), values);
}
Tensor Matrix(int64_t rows, int64_t cols, std::initializer_list<float> values) {
  return Tensor::Of<float>(Shape({rows, cols}), values);
}

// The process may have a gigabyte, for as long as one lives.
class OneGigabyte {
 public:
  OneGigabyte() { SetMemoryLimit(size_t{1} << 30); }
  ~OneGigabyte() { SetMemoryLimit(before_); }

 private:
  const size_t before_ = MemoryLimit();
};

// [rows, 0]: takes no memory, however many rows there are.
Tensor EmptyRows(DType dtype, int64_t rows) { return Tensor::Zeros(dtype, {rows, 0}).value(); }

TEST_F(GatherKernels, MoreIndicesThanMemoryHoldsAreAnError) {
  const OneGigabyte limit;
  const auto got = Run("GatherNd", {Floats({1, 2}), EmptyRows(DType::kInt32, int64_t{1} << 32)});
  EXPECT_TRUE(absl::IsResourceExhausted(got.status())) << got.status();
}

TEST_F(ScatterKernels, MoreRowsThanMemoryHoldsAreAnErrorEvenWithoutElements) {
  const Tensor updates = Tensor::Zeros(DType::kFloat, {1, 0}).value();
  const auto got = Run("ScatterNd", {Tensor::Of<int64_t>(Shape({1, 1}), {0}), updates,
                                     Longs({int64_t{1} << 40, 0})});
  EXPECT_TRUE(absl::IsResourceExhausted(got.status())) << got.status();
}

TEST_F(SetKernels, MoreSlicesThanMemoryHoldsAreAnErrorEvenWithoutElements) {
  const OneGigabyte limit;
  const auto got = Run("UniqueV2", {EmptyRows(DType::kFloat, int64_t{1} << 33), Longs({0})});
  EXPECT_TRUE(absl::IsResourceExhausted(got.status())) << got.status();
}

TEST_F(SetKernels, ALongLoopIsLeftWhenTheStepIsCancelled) {
  cancellation().StartCancel(DeadlineExceeded("too late"));
  const auto got = Run("UniqueV2", {EmptyRows(DType::kFloat, 1'000'000), Longs({0})});
  EXPECT_TRUE(absl::IsDeadlineExceeded(got.status())) << got.status();
}

TEST_F(GatherKernels, PickAlongAnyAxis) {
  const Tensor x = Matrix(2, 3, {1, 2, 3, 4, 5, 6});
  ExpectSame(RunOne("Gather", {x, Ints({1, 0, 1})}), Matrix(3, 3, {4, 5, 6, 1, 2, 3, 4, 5, 6}));
  ExpectSame(RunOne("GatherV2", {x, Longs({2, 0}), Int(1)}), Matrix(2, 2, {3, 1, 6, 4}));
  ExpectSame(RunOne("GatherV2", {x, Tensor::Scalar<int16_t>(1), Int(-1)}), Floats({2, 5}));
  ExpectSame(RunOne("GatherV2", {Strings({"a", "b"}), IntMatrix(1, 2, {1, 0}), Int(0)}),
             Tensor::Of<std::string>(Shape({1, 2}), {"b", "a"}));
  ExpectSame(RunOne("GatherV2", {x, Ints({}), Int(0)}), Matrix(0, 3, {}));
}

TEST_F(GatherKernels, BatchDimsGoTogether) {
  const Tensor x = Matrix(2, 3, {1, 2, 3, 4, 5, 6});
  ExpectSame(
      RunOne(OpNode("GatherV2").Attr("batch_dims", 1), {x, IntMatrix(2, 2, {0, 2, 1, 1}), Int(1)}),
      Matrix(2, 2, {1, 3, 5, 5}));
  EXPECT_EQ(Run(OpNode("GatherV2").Attr("batch_dims", 1),
                {Matrix(1, 3, {1, 2, 3}), IntMatrix(2, 1, {0, 1}), Int(1)})
                .status()
                .message(),
            "params.shape[0]: 1 should be equal to indices.shape[0]: 2");
}

TEST_F(GatherKernels, ManyRowsComeOutInOrder) {
  std::vector<int64_t> rows(50000);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = (i * 7919) % 1000;
  std::vector<float> table(1000 * 9);
  std::iota(table.begin(), table.end(), 0.0f);
  const Tensor out = RunOne("GatherV2", {Tensor::Vector<float>(table).Reshaped(Shape({1000, 9})),
                                         Tensor::Vector<int64_t>(rows), Int(0)});
  ASSERT_EQ(out.shape(), Shape({50000, 9}));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int c = 0; c < 9; ++c) ASSERT_EQ(out.values<float>()[i * 9 + c], rows[i] * 9 + c);
  }
}

TEST_F(GatherKernels, NameTheIndexThatIsOutOfRange) {
  const Tensor x = Floats({1, 2, 3});
  EXPECT_EQ(Run("GatherV2", {x, Ints({5}), Int(0)}).status().message(),
            "indices[0] = 5 is not in [0, 3)");
  EXPECT_EQ(Run("GatherV2", {x, Int(5), Int(0)}).status().message(),
            "indices = 5 is not in [0, 3)");
  EXPECT_EQ(Run("GatherV2", {x, Longs({0, -1}), Int(0)}).status().message(),
            "indices[1] = -1 is not in [0, 3)");
  EXPECT_EQ(Run("GatherV2", {x.Reshaped(Shape({1, 3})), IntMatrix(1, 2, {0, 5}), Int(1)})
                .status()
                .message(),
            "indices[0,1] = 5 is not in [0, 3)");
  EXPECT_EQ(Run("GatherV2", {Matrix(0, 2, {}), Ints({0}), Int(0)}).status().message(),
            "indices[0] = 0 is not in [0, 0)");
}

TEST_F(GatherKernels, GatherNdTakesSlices) {
  const Tensor x = Matrix(2, 2, {1, 2, 3, 4});
  ExpectSame(RunOne("GatherNd", {x, IntMatrix(2, 2, {1, 0, 0, 1})}), Floats({3, 2}));
  ExpectSame(RunOne("GatherNd", {x, IntMatrix(1, 1, {1})}), Matrix(1, 2, {3, 4}));
  ExpectSame(RunOne("GatherNd", {x, IntMatrix(2, 0, {})}),
             Tensor::Of<float>(Shape({2, 2, 2}), {1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(
      Run(OpNode("GatherNd").Name("g"), {x, IntMatrix(2, 2, {0, 0, 2, 1})}).status().message(),
      "indices[1] = [2, 1] does not index into param shape [2,2], node name: g");
}

TEST_F(ScatterKernels, ScatterNdAddsUp) {
  ExpectSame(RunOne("ScatterNd", {IntMatrix(3, 1, {2, 0, 2}), Floats({1, 2, 3}), Ints({4})}),
             Floats({2, 0, 4, 0}));
  ExpectSame(RunOne("ScatterNd", {IntMatrix(1, 1, {1}), IntMatrix(1, 2, {7, 8}), Ints({2, 2})}),
             IntMatrix(2, 2, {0, 0, 7, 8}));
  ExpectSame(RunOne("ScatterNd", {IntMatrix(2, 1, {0, 0}), Strings({"a", "b"}), Ints({2})}),
             Strings({"ab", ""}));
  EXPECT_EQ(
      Run("ScatterNd", {IntMatrix(2, 1, {4, 7}), Floats({1, 2}), Ints({3})}).status().message(),
      "indices[0] = [4] does not index into shape [3]");
  EXPECT_EQ(
      Run("ScatterNd", {IntMatrix(2, 1, {0, 1}), Floats({1, 2, 3}), Ints({3})}).status().message(),
      "Dimensions [0,1) of indices[shape=[2,1]] must match dimensions [0,1) of "
      "updates[shape=[3]]");
}

TEST_F(ScatterKernels, TensorScatterLeavesItsInputAlone) {
  const Tensor x = Floats({1, 2, 3});
  ExpectSame(RunOne("TensorScatterUpdate", {x, IntMatrix(1, 1, {1}), Floats({9})}),
             Floats({1, 9, 3}));
  ExpectSame(RunOne("TensorScatterAdd", {x, IntMatrix(2, 1, {1, 1}), Floats({9, 1})}),
             Floats({1, 12, 3}));
  ExpectSame(RunOne("TensorScatterSub", {x, IntMatrix(1, 1, {0}), Floats({9})}),
             Floats({-8, 2, 3}));
  ExpectSame(x, Floats({1, 2, 3}));
}

TEST_F(PartitionKernels, PartitionAndStitchAreInverse) {
  const Tensor data = Matrix(3, 2, {1, 2, 3, 4, 5, 6});
  const auto parts =
      Run(OpNode("DynamicPartition").Attr("num_partitions", 2), {data, Ints({1, 0, 1})});
  ASSERT_TRUE(parts.ok()) << parts.status();
  ExpectSame((*parts)[0], Matrix(1, 2, {3, 4}));
  ExpectSame((*parts)[1], Matrix(2, 2, {1, 2, 5, 6}));
  ExpectSame(RunOne(OpNode("DynamicStitch").Attr("N", 2).Attr("T", DType::kFloat),
                    {Ints({1}), Ints({0, 2}), (*parts)[0], (*parts)[1]}),
             data);
}

TEST_F(PartitionKernels, StitchLetsTheLastOneWinAndClearsGaps) {
  const OpNode stitch = OpNode("DynamicStitch").Attr("N", 1).Attr("T", DType::kFloat);
  ExpectSame(RunOne(stitch, {Ints({0, 0, 0, 3}), Floats({1, 2, 3, 4})}), Floats({3, 0, 0, 4}));
  EXPECT_EQ(Run(stitch, {Ints({0, -1}), Floats({1, 2})}).status().message(),
            "indices[1] is out of range");
  EXPECT_EQ(Run(stitch, {Ints({0, 1}), Floats({1, 2, 3})}).status().message(),
            "data[0].shape = [3] does not start with indices[0].shape = [2]");
}

TEST_F(PartitionKernels, PartitionNamesWhatIsOutOfRange) {
  const OpNode node = OpNode("DynamicPartition").Attr("num_partitions", 2);
  EXPECT_EQ(Run(node, {Floats({1, 2}), Ints({0, 5})}).status().message(),
            "partitions[1] = 5 is not in [0, 2)");
  EXPECT_EQ(Run(node, {Floats({1, 2}), Ints({0, 1, 1})}).status().message(),
            "data.shape must start with partitions.shape, got data.shape = [2], partitions.shape = "
            "[3]");
}

TEST_F(SetKernels, UniqueNumbersManyValuesInTheOrderInWhichTheyAppear) {
  // More different values than the table of numbers begins with.
  std::vector<int64_t> values, different;
  std::vector<int32_t> numbers;
  std::map<int64_t, int32_t> number_of;
  for (int64_t i = 0; i < 300'000; ++i) {
    values.push_back((i * i * 7919) % 1'000'003 << (i % 3 * 20));
    const auto [it, is_new] = number_of.emplace(values.back(), different.size());
    if (is_new) different.push_back(values.back());
    numbers.push_back(it->second);
  }
  ASSERT_GT(different.size(), 1u << 17);
  const auto got = *Run("Unique", {Tensor::Vector<int64_t>(values)});
  ExpectSame(got[0], Tensor::Vector<int64_t>(different));
  ExpectSame(got[1], Tensor::Vector<int32_t>(numbers));
}

TEST_F(SetKernels, WhereListsThePositionsOfManyElementsInOrder) {
  const Shape shape({7, 90, 70});
  for (const int every : {1, 3, 50000}) {
    std::vector<int32_t> values(shape.num_elements(), 0);
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      if (i * i % every != 0) continue;
      values[i] = 5;
      positions.insert(positions.end(), {i / (90 * 70), i / 70 % 90, i % 70});
    }
    const int64_t count = static_cast<int64_t>(positions.size()) / 3;
    const Tensor x = Tensor::Vector<int32_t>(values);
    ExpectSame(RunOne("Where", {x.Reshaped(shape)}),
               Tensor::Vector<int64_t>(positions).Reshaped(Shape({count, 3})));
  }
}

TEST_F(SetKernels, WhereListsPositions) {
  ExpectSame(RunOne("Where", {Tensor::Of<bool>(Shape({2, 2}), {true, false, true, true})}),
             Tensor::Of<int64_t>(Shape({3, 2}), {0, 0, 1, 0, 1, 1}));
  ExpectSame(RunOne("Where", {Floats({0, -0.0f, 2, std::numeric_limits<float>::quiet_NaN()})}),
             Tensor::Of<int64_t>(Shape({2, 1}), {2, 3}));
  ExpectSame(RunOne("Where", {Tensor::Vector<std::complex<double>>({{0, -0.0}, {0, 1}})}),
             Tensor::Of<int64_t>(Shape({1, 1}), {1}));
  EXPECT_EQ(Run("Where", {Tensor::Scalar(true)}).status().message(),
            "WhereOp : Unhandled input dimensions: 0");
}

TEST_F(SetKernels, UniqueKeepsTheOrderOfFirstAppearance) {
  const auto unique = Run("UniqueWithCounts", {Ints({4, 1, 4, 9, 1, 4})});
  ASSERT_TRUE(unique.ok()) << unique.status();
  ExpectSame((*unique)[0], Ints({4, 1, 9}));
  ExpectSame((*unique)[1], Ints({0, 1, 0, 2, 1, 0}));
  ExpectSame((*unique)[2], Ints({3, 2, 1}));
  ExpectSame(RunOne("Unique", {Strings({"b", "a", "b"})}), Strings({"b", "a"}));
  EXPECT_EQ(Run("Unique", {Matrix(1, 1, {1})}).status().message(), "unique expects a 1D vector.");
}

TEST_F(SetKernels, UniqueTakesFloatsByValue) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto unique = Run("Unique", {Floats({0.0f, -0.0f, nan, nan, 1})});
  ASSERT_TRUE(unique.ok()) << unique.status();
  ExpectSame((*unique)[1], Ints({0, 0, 1, 2, 3}));
}

TEST_F(SetKernels, ListDiffKeepsWhatTheOtherLacks) {
  const auto diff =
      Run(OpNode("ListDiff").Attr("out_idx", DType::kInt64), {Ints({1, 2, 3, 2, 5}), Ints({2, 1})});
  ASSERT_TRUE(diff.ok()) << diff.status();
  ExpectSame((*diff)[0], Ints({3, 5}));
  ExpectSame((*diff)[1], Longs({2, 4}));
}

TEST_F(DiagKernels, DiagAndDiagPartAreInverse) {
  const Tensor x = RunOne("Diag", {Floats({1, 2})});
  ExpectSame(x, Matrix(2, 2, {1, 0, 0, 2}));
  ExpectSame(RunOne("DiagPart", {x}), Floats({1, 2}));
  EXPECT_EQ(Run("DiagPart", {Matrix(1, 2, {1, 2})}).status().message(),
            "Invalid shape [1,2]: dimensions 0 and 1 do not match.");
}

TEST_F(DiagKernels, MatrixDiagPacksAndUnpacksBands) {
  const Tensor x = IntMatrix(3, 4, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  // Superdiagonals to the right, subdiagonals to the left, as by default.
  const Tensor band = IntMatrix(3, 3, {2, 7, 12, 1, 6, 11, 5, 10, 99});
  ExpectSame(RunOne("MatrixDiagPartV3", {x, Ints({-1, 1}), Int(99)}), band);
  ExpectSame(
      RunOne(OpNode("MatrixDiagPartV3").Attr("align", "LEFT_RIGHT"), {x, Ints({-1, 1}), Int(99)}),
      IntMatrix(3, 3, {2, 7, 12, 1, 6, 11, 99, 5, 10}));
  ExpectSame(RunOne("MatrixDiagV3", {band, Ints({-1, 1}), Int(3), Int(4), Int(0)}),
             IntMatrix(3, 4, {1, 2, 0, 0, 5, 6, 7, 0, 0, 10, 11, 12}));
  ExpectSame(RunOne("MatrixDiagV3", {Ints({1, 2}), Int(1), Int(-1), Int(-1), Int(0)}),
             IntMatrix(3, 3, {0, 1, 0, 0, 0, 2, 0, 0, 0}));
  // A diagonal that lies outside the matrix is all padding.
  ExpectSame(
      RunOne("MatrixDiagV3", {IntMatrix(3, 1, {7, 8, 9}), Ints({0, 2}), Int(-1), Int(-1), Int(0)}),
      IntMatrix(1, 1, {9}));
  ExpectSame(RunOne("MatrixDiagPart", {IntMatrix(2, 2, {1, 2, 3, 4})}), Ints({1, 4}));
  ExpectSame(RunOne("MatrixSetDiagV3", {IntMatrix(2, 2, {1, 2, 3, 4}), Ints({8, 9}), Int(0)}),
             IntMatrix(2, 2, {8, 2, 3, 9}));
  EXPECT_EQ(
      Run("MatrixDiagPartV3", {IntMatrix(1, 2, {1, 2}), Ints({5}), Int(0)}).status().message(),
      "lower_diag_index is out of bound: 5. It must be between -1 and 2");
  EXPECT_EQ(Run("MatrixDiagV3", {Ints({1, 2}), Ints({1, 0}), Int(-1), Int(-1), Int(0)})
                .status()
                .message(),
            "lower_diag_index must not be larger than upper_diag_index: 1 > 0");
}

TEST_F(DiagKernels, MatrixBandPartClearsTheRest) {
  const Tensor x = IntMatrix(2, 3, {1, 2, 3, 4, 5, 6});
  const Tensor none = Tensor::Scalar<int64_t>(0), all = Tensor::Scalar<int64_t>(-1);
  ExpectSame(RunOne("MatrixBandPart", {x, none, none}), IntMatrix(2, 3, {1, 0, 0, 0, 5, 0}));
  ExpectSame(RunOne("MatrixBandPart", {x, none, all}), IntMatrix(2, 3, {1, 2, 3, 0, 5, 6}));
  ExpectSame(RunOne("MatrixBandPart", {x, all, all}), x);
  EXPECT_THAT(
      Run("MatrixBandPart", {x, Tensor::Scalar<int64_t>(3), none}).status().message(),
      HasSubstr("num_lower must be negative or less or equal to number of rows (2) got: 3"));
}

// Dimensions beside a zero take no memory, however large they are: nothing may walk through them.
constexpr int64_t kHuge = int64_t{1} << 32;
Tensor Nothing(std::initializer_list<int64_t> dims) {
  return *Tensor::Zeros(DType::kInt32, *Shape::Make(dims));
}

TEST_F(GatherKernels, GatherNdOfAnyNumberOfIndicesWithoutElements) {
  const Tensor taken = RunOne("GatherNd", {Nothing({0}), Nothing({kHuge, 0})});
  EXPECT_EQ(taken.shape(), Shape({kHuge, 0}));
}

TEST_F(ScatterKernels, ScatterNdOfAnyNumberOfIndicesWithoutElements) {
  const Tensor indices = Nothing({kHuge, 0}), updates = Nothing({kHuge, 0});
  EXPECT_EQ(RunOne("ScatterNd", {indices, updates, Ints({0})}).shape(), Shape({0}));
  EXPECT_EQ(RunOne("TensorScatterAdd", {Nothing({0}), indices, updates}).shape(), Shape({0}));
}

TEST_F(DiagKernels, AnyNumberOfMatricesWithoutElements) {
  EXPECT_EQ(RunOne("MatrixDiag", {Nothing({kHuge, 0})}).shape(), Shape({kHuge, 0, 0}));
  EXPECT_EQ(RunOne("MatrixDiagPart", {Nothing({kHuge, 0, 3})}).shape(), Shape({kHuge, 0}));
}

}  // namespace
}  // namespace tensorfleet
