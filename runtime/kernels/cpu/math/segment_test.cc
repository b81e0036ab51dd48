#include <cmath>
#include <limits>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using SegmentTest = OpTest;

Tensor Data() { return Tensor::Of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}); }

TEST_F(SegmentTest, SortedSegmentsAreReducedAndGapsFilled) {
  const Tensor ids = Tensor::Vector<int32_t>({1, 1, 1, 3});
  const auto reduce = [&](const char* op) { return RunOne(op, {Data(), ids}); };
  ExpectSame(reduce("SegmentSum"), Tensor::Of<float>({4, 2}, {0, 0, 9, 12, 0, 0, 7, 8}));
  ExpectSame(reduce("SegmentMean"), Tensor::Of<float>({4, 2}, {0, 0, 3, 4, 0, 0, 7, 8}));
  ExpectSame(reduce("SegmentProd"), Tensor::Of<float>({4, 2}, {1, 1, 15, 48, 1, 1, 7, 8}));
  ExpectSame(reduce("SegmentMin"), Tensor::Of<float>({4, 2}, {0, 0, 1, 2, 0, 0, 7, 8}));
  ExpectSame(reduce("SegmentMax"), Tensor::Of<float>({4, 2}, {0, 0, 5, 6, 0, 0, 7, 8}));
}

TEST_F(SegmentTest, SortedIdsAreChecked) {
  const auto message = [&](std::initializer_list<int32_t> ids) {
    return std::string(
        Run("SegmentSum", {Data(), Tensor::Vector<int32_t>(ids)}).status().message());
  };
  EXPECT_THAT(message({0, 2, 1, 3}), HasSubstr("segment ids are not increasing: 1 follows 2"));
  EXPECT_THAT(message({-1, 0, 0, 0}), HasSubstr("must be >= 0, but got -1"));
  EXPECT_THAT(message({0, 1}), HasSubstr("should be the same size as dimension 0 of input"));
}

TEST_F(SegmentTest, SplitsOfRaggedBincountAreAVector) {
  const auto count = [&](const Tensor& splits) {
    return Run("RaggedBincount", {splits, Tensor::Vector<int32_t>({0, 1, 1}),
                                  Tensor::Scalar<int32_t>(2), Tensor::Vector<float>({})});
  };
  ExpectSame((*count(Tensor::Vector<int64_t>({0, 1, 3})))[0],
             Tensor::Of<float>({2, 2}, {1, 0, 0, 2}));
  EXPECT_THAT(std::string(count(Tensor::Of<int64_t>({1, 3}, {0, 1, 3})).status().message()),
              HasSubstr("must be a vector, got shape: [1,3]"));
}

TEST_F(SegmentTest, UnsortedSegmentsTakeAnyOrderAndDropNegativeIds) {
  const Tensor ids = Tensor::Vector<int64_t>({2, 0, -1, 2});
  const auto reduce = [&](const char* op) {
    return RunOne(op, {Data(), ids, Tensor::Scalar<int32_t>(3)});
  };
  constexpr float kMax = std::numeric_limits<float>::max();
  ExpectSame(reduce("UnsortedSegmentSum"), Tensor::Of<float>({3, 2}, {3, 4, 0, 0, 8, 10}));
  ExpectSame(reduce("UnsortedSegmentProd"), Tensor::Of<float>({3, 2}, {3, 4, 1, 1, 7, 16}));
  ExpectSame(reduce("UnsortedSegmentMax"), Tensor::Of<float>({3, 2}, {3, 4, -kMax, -kMax, 7, 8}));
  ExpectSame(reduce("UnsortedSegmentMin"), Tensor::Of<float>({3, 2}, {3, 4, kMax, kMax, 1, 2}));
}

TEST_F(SegmentTest, IdsOfHigherRankFoldMoreDimensions) {
  ExpectSame(
      RunOne("UnsortedSegmentSum", {Data(), Tensor::Of<int32_t>({4, 2}, {0, 1, 0, 1, 0, 1, 1, 0}),
                                    Tensor::Scalar<int32_t>(2)}),
      Tensor::Vector<float>({1 + 3 + 5 + 8, 2 + 4 + 6 + 7}));
}

TEST_F(SegmentTest, SortedRowsGoToThreadsBySegmentsThatStayWhole) {
  // Runs of 1 to 3000 rows, with gaps between their ids; the last segments of all have no rows.
  std::vector<int32_t> ids, sources;
  for (int32_t id = 2, run = 1; ids.size() < 60000; id += 1 + run % 3, run = run * 7 % 3001) {
    for (int i = 0; i < run; ++i) ids.push_back(id);
  }
  const int64_t n = static_cast<int64_t>(ids.size()), segments = ids.back() + 3, width = 8;
  for (int64_t i = 0; i < n; ++i) sources.push_back(static_cast<int32_t>(i * 31 % n));
  Tensor data = *Tensor::Allocate(DType::kFloat, Shape({n, width}));
  for (int64_t i = 0; i < n * width; ++i) data.mutable_values<float>()[i] = i % 13 - 6;
  Tensor sum = *Tensor::Zeros(DType::kFloat, Shape({segments - 2, width}));
  Tensor picked_sum = *Tensor::Zeros(DType::kFloat, Shape({segments, width}));
  for (int64_t i = 0; i < n * width; ++i) {
    const int64_t row = i / width, to = ids[row] * width + i % width;
    sum.mutable_values<float>()[to] += data.values<float>()[i];
    picked_sum.mutable_values<float>()[to] +=
        data.values<float>()[sources[row] * width + i % width];
  }
  ExpectSame(RunOne("SegmentSum", {data, Tensor::Vector<int32_t>(ids)}), sum);
  ExpectSame(RunOne("SparseSegmentSumWithNumSegments",
                    {data, Tensor::Vector<int32_t>(sources), Tensor::Vector<int32_t>(ids),
                     Tensor::Scalar<int32_t>(static_cast<int32_t>(segments))}),
             picked_sum);
}

TEST_F(SegmentTest, ManyRowsGoToThreadsWithTheSameResult) {
  const int64_t n = 20000;
  Tensor data = *Tensor::Allocate(DType::kInt32, Shape({n, 8}));
  Tensor ids = *Tensor::Allocate(DType::kInt32, Shape({n}));
  Tensor want = *Tensor::Zeros(DType::kInt32, Shape({37, 8}));
  for (int64_t i = 0; i < n; ++i) {
    ids.mutable_values<int32_t>()[i] = static_cast<int32_t>(i * 7 % 39 - 2);
    for (int64_t k = 0; k < 8; ++k) {
      data.mutable_values<int32_t>()[i * 8 + k] = static_cast<int32_t>(i + k);
      const int32_t id = ids.values<int32_t>()[i];
      if (id >= 0) want.mutable_values<int32_t>()[id * 8 + k] += static_cast<int32_t>(i + k);
    }
  }
  ExpectSame(RunOne("UnsortedSegmentSum", {data, ids, Tensor::Scalar<int32_t>(37)}), want);
}

TEST_F(SegmentTest, UnsortedSegmentsNameWhatIsOutOfRange) {
  const Tensor ids = Tensor::Vector<int32_t>({0, 5, 0, 0});
  EXPECT_EQ(Run("UnsortedSegmentSum", {Data(), ids, Tensor::Scalar<int32_t>(3)}).status(),
            InvalidArgument("segment_ids[1] = 5 is out of range [0, 3)"));
  EXPECT_THAT(
      Run("UnsortedSegmentSum", {Data(), ids, Tensor::Scalar<int32_t>(-3)}).status().message(),
      HasSubstr("must not be negative"));
  EXPECT_THAT(Run("UnsortedSegmentSum",
                  {Data(), Tensor::Vector<int32_t>({0, 1}), Tensor::Scalar<int32_t>(3)})
                  .status()
                  .message(),
              HasSubstr("does not start with segment_ids.shape = [2]"));
}

TEST_F(SegmentTest, SparseSegmentsReduceTheRowsThatAreNamed) {
  const Tensor rows = Tensor::Vector<int32_t>({3, 0, 0, 1}),
               ids = Tensor::Vector<int64_t>({0, 0, 0, 2});
  const auto reduce = [&](const char* op) { return RunOne(op, {Data(), rows, ids}); };
  ExpectSame(reduce("SparseSegmentSum"), Tensor::Of<float>({3, 2}, {9, 12, 0, 0, 3, 4}));
  ExpectClose(reduce("SparseSegmentMean"), Tensor::Of<float>({3, 2}, {3, 4, 0, 0, 3, 4}));
  const float root = std::sqrt(3.0f);
  ExpectClose(reduce("SparseSegmentSqrtN"),
              Tensor::Of<float>({3, 2}, {9 / root, 12 / root, 0, 0, 3, 4}));
  ExpectSame(
      RunOne("SparseSegmentSumWithNumSegments", {Data(), rows, ids, Tensor::Scalar<int32_t>(4)}),
      Tensor::Of<float>({4, 2}, {9, 12, 0, 0, 3, 4, 0, 0}));
  EXPECT_EQ(Run("SparseSegmentSumWithNumSegments", {Data(), rows, ids, Tensor::Scalar<int32_t>(2)})
                .status(),
            InvalidArgument("segment ids must be < num_segments, but got 2 and 2"));
  EXPECT_EQ(Run("SparseSegmentSum",
                {Data(), Tensor::Vector<int32_t>({0, 4}), Tensor::Vector<int32_t>({0, 0})})
                .status(),
            InvalidArgument("indices[1] == 4 out of range [0, 4)"));
}

TEST_F(SegmentTest, GradientsGoBackToTheRowsThatWereNamed) {
  const Tensor g = Tensor::Of<float>({2, 1}, {6, 10});
  const Tensor rows = Tensor::Vector<int32_t>({4, 1, 4}), ids = Tensor::Vector<int32_t>({0, 0, 1});
  const Tensor five = Tensor::Scalar<int32_t>(5);
  ExpectSame(RunOne("SparseSegmentSumGrad", {g, rows, ids, five}),
             Tensor::Of<float>({5, 1}, {0, 6, 0, 0, 16}));
  ExpectSame(RunOne("SparseSegmentMeanGrad", {g, rows, ids, five}),
             Tensor::Of<float>({5, 1}, {0, 3, 0, 0, 13}));
  const std::vector<Tensor> compact = *Run("SparseSegmentMeanGradV2", {g, rows, ids, five});
  ExpectSame(compact[0], Tensor::Of<float>({2, 1}, {3, 13}));
  ExpectSame(compact[1], Tensor::Vector<int32_t>({1, 4}));
  EXPECT_THAT(Run("SparseSegmentMeanGrad",
                  {g, Tensor::Vector<int32_t>({5}), Tensor::Vector<int32_t>({0}), five})
                  .status()
                  .message(),
              HasSubstr("Index[0] == 5 out of range [0, 5)"));
}

}  // namespace
}  // namespace tensorfleet
