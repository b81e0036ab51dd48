#include <cmath>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using SparseTest = OpTest;

Tensor Longs(std::initializer_list<int64_t> values) { return Tensor::Vector<int64_t>(values); }
// Entries (0, 1) = 1 and (2, 0) = 2 of a 4 x 3 matrix.
Tensor Indices() { return Tensor::Of<int64_t>({2, 2}, {0, 1, 2, 0}); }
Tensor Values() { return Tensor::Vector<float>({1, 2}); }
Tensor Dense() { return Longs({4, 3}); }

TEST_F(SparseTest, ToDensePutsValuesAtTheirPlaces) {
  const Tensor nine = Tensor::Scalar(9.0f), shape = Longs({2, 3});
  const auto run = [&](const Tensor& indices, const Tensor& size, const Tensor& values) {
    return RunOne("SparseToDense", {indices, size, values, nine});
  };
  ExpectSame(run(Tensor::Of<int64_t>({2, 2}, {0, 1, 1, 0}), shape, Values()),
             Tensor::Of<float>({2, 3}, {9, 1, 9, 2, 9, 9}));
  ExpectSame(run(Longs({1, 2}), Longs({4}), Tensor::Scalar(5.0f)),
             Tensor::Vector<float>({9, 5, 5, 9}));
  ExpectSame(run(Tensor::Scalar<int64_t>(2), Longs({4}), Tensor::Scalar(5.0f)),
             Tensor::Vector<float>({9, 9, 5, 9}));
  ExpectSame(
      RunOne("SparseToDense", {Longs({1}), Longs({2}), Tensor::Scalar("x"), Tensor::Scalar("")}),
      Tensor::Vector<std::string>({"", "x"}));
}

TEST_F(SparseTest, ToDenseChecksItsIndices) {
  const auto message = [&](std::initializer_list<int64_t> indices, bool validates = true) {
    return std::string(
        Run(OpNode("SparseToDense").Attr("validate_indices", validates),
            {Tensor::Of<int64_t>({2, 2}, indices), Longs({2, 3}), Values(), Tensor::Scalar(0.0f)})
            .status()
            .message());
  };
  EXPECT_EQ(message({1, 0, 1, 0}), "indices[1] = [1,0] is repeated");
  EXPECT_THAT(message({1, 0, 0, 1}), HasSubstr("indices[1] = [0,1] is out of order"));
  EXPECT_EQ(message({1, 0, 0, 1}, false), "");
  EXPECT_EQ(message({1, 0, 1, 3}, false),
            "indices[1] = [1,3] is out of bounds: need 0 <= index < [2,3]");
}

TEST_F(SparseTest, TimesDenseIsTheProductOfTheMatrices) {
  const Tensor b = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor product = Tensor::Of<float>({4, 2}, {3, 4, 0, 0, 2, 4, 0, 0});
  ExpectSame(RunOne("SparseTensorDenseMatMul", {Indices(), Values(), Dense(), b}), product);
  ExpectSame(RunOne(OpNode("SparseTensorDenseMatMul").Attr("adjoint_b", true),
                    {Indices(), Values(), Dense(), Tensor::Of<float>({2, 3}, {1, 3, 5, 2, 4, 6})}),
             product);
  ExpectSame(RunOne(OpNode("SparseTensorDenseMatMul").Attr("adjoint_a", true),
                    {Tensor::Of<int64_t>({2, 2}, {1, 0, 0, 2}), Values(), Longs({3, 4}), b}),
             product);
  EXPECT_THAT(Run("SparseTensorDenseMatMul",
                  {Tensor::Of<int64_t>({2, 2}, {0, 1, 4, 0}), Values(), Dense(), b})
                  .status()
                  .message(),
              HasSubstr("index[1] = [4,0] out of bounds of A, which is [4,3]"));
  EXPECT_THAT(
      Run("SparseTensorDenseMatMul", {Indices(), Values(), Longs({4, 5}), b}).status().message(),
      HasSubstr("inner dimension does not match: 5 vs. 3"));
}

TEST_F(SparseTest, FillEmptyRowsAddsADefaultToEach) {
  const std::vector<Tensor> out =
      *Run("SparseFillEmptyRows",
           {Tensor::Of<int64_t>({2, 2}, {2, 1, 0, 2}), Values(), Dense(), Tensor::Scalar(7.0f)});
  ExpectSame(out[0], Tensor::Of<int64_t>({4, 2}, {0, 2, 1, 0, 2, 1, 3, 0}));
  ExpectSame(out[1], Tensor::Vector<float>({2, 7, 1, 7}));
  ExpectSame(out[2], Tensor::Vector<bool>({false, true, false, true}));
  ExpectSame(out[3], Longs({2, 0}));
  const std::vector<Tensor> grad =
      *Run("SparseFillEmptyRowsGrad", {out[3], Tensor::Vector<float>({1, 10, 100, 1000})});
  ExpectSame(grad[0], Tensor::Vector<float>({100, 1}));
  ExpectSame(grad[1], Tensor::Scalar(1010.0f));
  EXPECT_THAT(Run("SparseFillEmptyRows", {Tensor::Of<int64_t>({2, 2}, {0, 0, 4, 0}), Values(),
                                          Dense(), Tensor::Scalar(7.0f)})
                  .status()
                  .message(),
              HasSubstr("indices(1, 0) is invalid: 4 is not in [0, 4)"));
}

TEST_F(SparseTest, ReshapeMovesTheIndices) {
  const std::vector<Tensor> out = *Run("SparseReshape", {Indices(), Dense(), Longs({-1, 2})});
  ExpectSame(out[0], Tensor::Of<int64_t>({2, 2}, {0, 1, 3, 0}));
  ExpectSame(out[1], Longs({6, 2}));
  const auto message = [&](const Tensor& shape) {
    return std::string(Run("SparseReshape", {Indices(), Dense(), shape}).status().message());
  };
  EXPECT_THAT(message(Longs({-1, 5})), HasSubstr("requires a multiple of 5"));
  EXPECT_THAT(message(Longs({7})), HasSubstr("has 7"));
  EXPECT_EQ(message(Longs({-1, -1})), "only one output dimension may be -1, not both 0 and 1");
}

TEST_F(SparseTest, ReorderSortsRowByRow) {
  const std::vector<Tensor> out = *Run(
      "SparseReorder",
      {Tensor::Of<int64_t>({3, 2}, {2, 0, 0, 2, 0, 1}), Tensor::Vector<float>({1, 2, 3}), Dense()});
  ExpectSame(out[0], Tensor::Of<int64_t>({3, 2}, {0, 1, 0, 2, 2, 0}));
  ExpectSame(out[1], Tensor::Vector<float>({3, 2, 1}));
}

TEST_F(SparseTest, ConcatPutsOneAfterTheOther) {
  OpNode node("SparseConcat");
  node.Attr("concat_dim", -1).Attr("N", 2).Attr("T", DType::kFloat);
  const std::vector<Tensor> out =
      *Run(node, {Indices(), Tensor::Of<int64_t>({1, 2}, {0, 0}), Values(),
                  Tensor::Vector<float>({5}), Dense(), Longs({4, 2})});
  ExpectSame(out[0], Tensor::Of<int64_t>({3, 2}, {0, 1, 0, 3, 2, 0}));
  ExpectSame(out[1], Tensor::Vector<float>({1, 5, 2}));
  ExpectSame(out[2], Longs({4, 5}));
  EXPECT_THAT(Run(node, {Indices(), Tensor::Of<int64_t>({1, 2}, {0, 0}), Values(),
                         Tensor::Vector<float>({5}), Dense(), Longs({3, 2})})
                  .status()
                  .message(),
              HasSubstr("must match outside of dimension 1"));
}

TEST_F(SparseTest, SliceKeepsWhatIsInside) {
  const std::vector<Tensor> out =
      *Run("SparseSlice", {Indices(), Values(), Dense(), Longs({1, 0}), Longs({9, 2})});
  ExpectSame(out[0], Tensor::Of<int64_t>({1, 2}, {1, 0}));
  ExpectSame(out[1], Tensor::Vector<float>({2}));
  ExpectSame(out[2], Longs({3, 2}));
}

TEST_F(SparseTest, ReductionsAreDense) {
  const Tensor indices = Tensor::Of<int64_t>({3, 2}, {0, 1, 0, 2, 3, 1});
  const Tensor values = Tensor::Vector<float>({-1, -2, 5});
  const auto reduce = [&](const char* op, bool keep, const Tensor& axes) {
    return RunOne(OpNode(op).Attr("keep_dims", keep), {indices, values, Dense(), axes});
  };
  const Tensor last = Tensor::Vector<int32_t>({-1}), all = Tensor::Vector<int32_t>({0, 1});
  ExpectSame(reduce("SparseReduceSum", false, last), Tensor::Vector<float>({-3, 0, 0, 5}));
  ExpectSame(reduce("SparseReduceMax", true, last), Tensor::Of<float>({4, 1}, {-1, 0, 0, 5}));
  ExpectSame(reduce("SparseReduceSum", false, all), Tensor::Scalar(2.0f));
  EXPECT_EQ(reduce("SparseReduceSum", false, Tensor::Of<int32_t>({0}, {})).shape(), Shape({4, 3}));
}

TEST_F(SparseTest, SoftmaxIsOverTheEntriesOfARow) {
  const Tensor indices = Tensor::Of<int64_t>({3, 2}, {0, 1, 0, 2, 3, 1});
  const float a = 1 / (1 + std::exp(1.0f));
  ExpectClose(RunOne("SparseSoftmax", {indices, Tensor::Vector<float>({1, 2, 5}), Dense()}),
              Tensor::Vector<float>({a, 1 - a, 1}));
}

TEST_F(SparseTest, AddMergesAndDropsSumsThatAreTooSmall) {
  const Tensor b_indices = Tensor::Of<int64_t>({2, 2}, {0, 1, 1, 0}),
               b = Tensor::Vector<float>({-1, 3});
  const std::vector<Tensor> out = *Run(
      "SparseAdd", {Indices(), Values(), Dense(), b_indices, b, Dense(), Tensor::Scalar(2.5f)});
  ExpectSame(out[0], Tensor::Of<int64_t>({2, 2}, {1, 0, 2, 0}));
  ExpectSame(out[1], Tensor::Vector<float>({3, 2}));
  const std::vector<Tensor> grad =
      *Run("SparseAddGrad", {Tensor::Vector<float>({10, 100}), Indices(), b_indices, out[0]});
  ExpectSame(grad[0], Tensor::Vector<float>({0, 100}));
  ExpectSame(grad[1], Tensor::Vector<float>({0, 10}));
}

TEST_F(SparseTest, UniqueSlicesAlongAnAxis) {
  const Tensor x = Tensor::Of<float>({2, 3}, {1, 2, 1, 3, 4, 3});
  const std::vector<Tensor> out = *Run("UniqueWithCountsV2", {x, Tensor::Vector<int32_t>({-1})});
  ExpectSame(out[0], Tensor::Of<float>({2, 2}, {1, 2, 3, 4}));
  ExpectSame(out[1], Tensor::Vector<int32_t>({0, 1, 0}));
  ExpectSame(out[2], Tensor::Vector<int32_t>({2, 1}));
  EXPECT_THAT(Run("UniqueV2", {x, Tensor::Of<int32_t>({0}, {})}).status().message(),
              HasSubstr("expects a 1D vector"));
  EXPECT_THAT(Run("UniqueV2", {x, Tensor::Scalar<int32_t>(0)}).status().message(),
              HasSubstr("axis expects a 1D vector"));
  EXPECT_THAT(Run("UniqueV2", {x, Tensor::Vector<int32_t>({2})}).status().message(),
              HasSubstr("axis has to be between"));
}

}  // namespace
}  // namespace tensorfleet
