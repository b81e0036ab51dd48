#include <cmath>
#include <limits>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using NnTest = OpTest;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_F(NnTest, BiasAddAddsAlongTheChannels) {
  const Tensor x = Tensor::Of<float>({2, 2, 2}, {0, 0, 0, 0, 1, 1, 1, 1});
  const Tensor bias = Tensor::Vector<float>({10, 20});
  ExpectSame(RunOne("BiasAdd", {x, bias}),
             Tensor::Of<float>({2, 2, 2}, {10, 20, 10, 20, 11, 21, 11, 21}));
  ExpectSame(RunOne(OpNode("BiasAdd").Attr("data_format", "NCHW"), {x, bias}),
             Tensor::Of<float>({2, 2, 2}, {10, 10, 20, 20, 11, 11, 21, 21}));
}

TEST_F(NnTest, BiasAddNamesTheShapesThatDoNotFit) {
  const Tensor x = Tensor::Of<float>({1, 2}, {0, 0});
  EXPECT_EQ(
      Run("BiasAdd", {x, Tensor::Vector<float>({1, 2, 3})}).status(),
      InvalidArgument(
          "Must provide as many biases as the last dimension of the input tensor: [3] vs. [1,2]"));
  EXPECT_EQ(Run("BiasAdd", {Tensor::Vector<float>({1}), Tensor::Vector<float>({1})}).status(),
            InvalidArgument("Input tensor must be at least 2D: [1]"));
}

TEST_F(NnTest, BiasAddAddsToManyShortRows) {
  for (const int64_t channels : {1, 3, 32, 700}) {
    Tensor x = *Tensor::Allocate(DType::kFloat, Shape({1001, channels})), want = *x.Clone();
    Tensor bias = *Tensor::Allocate(DType::kFloat, Shape({channels}));
    for (int64_t i = 0; i < channels; ++i) bias.mutable_values<float>()[i] = static_cast<float>(i);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      x.mutable_values<float>()[i] = static_cast<float>(i % 1000);
      want.mutable_values<float>()[i] = static_cast<float>(i % 1000 + i % channels);
    }
    ExpectSame(RunOne("BiasAdd", {x, bias}), want);
  }
}

TEST_F(NnTest, BiasAddGradSumsOverEverythingButTheChannels) {
  const Tensor x = Tensor::Of<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  ExpectSame(RunOne("BiasAddGrad", {x}), Tensor::Vector<float>({16, 20}));
  ExpectSame(RunOne(OpNode("BiasAddGrad").Attr("data_format", "NCHW"), {x}),
             Tensor::Vector<float>({14, 22}));
  ExpectSame(RunOne("BiasAddGrad", {Tensor::Of<float>({0, 2}, {})}), Tensor::Vector<float>({0, 0}));
}

TEST_F(NnTest, SoftmaxOfRowsSumsToOneEvenWhereExpWouldOverflow) {
  const Tensor x = Tensor::Of<float>({2, 3}, {1, 2, 3, 1000, 1000, -1000});
  const double z = std::exp(-2) + std::exp(-1) + 1;
  const Tensor want = Tensor::Of<float>(
      {2, 3}, {float(std::exp(-2) / z), float(std::exp(-1) / z), float(1 / z), 0.5, 0.5, 0});
  ExpectClose(RunOne("Softmax", {x}), want, 1e-6);
  ExpectClose(RunOne("Exp", {RunOne("LogSoftmax", {x})}), want, 1e-6);
  ExpectSame(RunOne("Softmax", {Tensor::Of<float>({2, 0}, {})}), Tensor::Of<float>({2, 0}, {}));
  EXPECT_THAT(Run("Softmax", {Tensor::Scalar(1.0f)}).status().message(),
              HasSubstr("logits must have >= 1 dimension"));
}

TEST_F(NnTest, SoftmaxAgreesWithTheDefinitionForRowsOfAnyLength) {
  for (const int64_t classes : {1, 2, 3, 10, 127, 128, 5000}) {
    SCOPED_TRACE(classes);
    const int64_t rows = 5001 / classes + 1;
    Tensor x = *Tensor::Allocate(DType::kFloat, Shape({rows, classes}));
    Tensor want = *Tensor::Allocate(DType::kFloat, x.shape());
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      x.mutable_values<float>()[i] = static_cast<float>(i * i % 37) / 4 - 4;
    }
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < classes; ++i) sum += std::exp(x.values<float>()[row * classes + i]);
      for (int64_t i = row * classes; i < (row + 1) * classes; ++i) {
        want.mutable_values<float>()[i] = static_cast<float>(std::exp(x.values<float>()[i]) / sum);
      }
    }
    ExpectClose(RunOne("Softmax", {x}), want, 1e-6);
    ExpectClose(RunOne("Exp", {RunOne("LogSoftmax", {x})}), want, 2e-6);
    const auto half = [&](const Tensor& t) {
      return RunOne(OpNode("Cast").Attr("DstT", DType::kHalf), {t});
    };
    const Tensor of_half = RunOne("Softmax", {half(x)});
    ExpectClose(RunOne(OpNode("Cast").Attr("DstT", DType::kFloat), {of_half}), want, 2e-3);
  }
}

TEST_F(NnTest, SparseAndDenseCrossEntropyAgree) {
  const Tensor logits = Tensor::Of<float>({2, 3}, {1, 2, 3, -1, 0, 4});
  const Tensor dense = Tensor::Of<float>({2, 3}, {0, 1, 0, 1, 0, 0});
  const std::vector<Tensor> a = *Run("SoftmaxCrossEntropyWithLogits", {logits, dense});
  const std::vector<Tensor> b =
      *Run("SparseSoftmaxCrossEntropyWithLogits", {logits, Tensor::Vector<int32_t>({1, 0})});
  ExpectClose(a[0], b[0], 1e-6);
  ExpectClose(a[1], b[1], 1e-6);
  const double z = std::exp(-2) + std::exp(-1) + 1;
  EXPECT_NEAR(a[0].values<float>()[0], std::log(z) + 1, 1e-6);
  EXPECT_NEAR(a[1].values<float>()[1], std::exp(-1) / z - 1, 1e-6);
}

TEST_F(NnTest, CrossEntropyBroadcastsLabels) {
  const Tensor logits = Tensor::Of<float>({2, 3}, {0, 0, 0, 0, 0, 0});
  const std::vector<Tensor> out =
      *Run("SoftmaxCrossEntropyWithLogits", {logits, Tensor::Of<float>({1, 3}, {1, 1, 1})});
  ExpectClose(out[0], Tensor::Vector<float>({3.2958369f, 3.2958369f}), 1e-6);
  EXPECT_EQ(Run("SoftmaxCrossEntropyWithLogits",
                {logits, Tensor::Of<float>({3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1})})
                .status(),
            InvalidArgument(
                "logits and labels must be broadcastable: logits_size=[2,3] labels_size=[3,3]"));
}

TEST_F(NnTest, SparseCrossEntropyNamesTheLabelOutOfRange) {
  const Tensor logits = Tensor::Of<float>({2, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(Run("SparseSoftmaxCrossEntropyWithLogits", {logits, Tensor::Vector<int64_t>({1, 7})})
                .status(),
            InvalidArgument("Received a label value of 7 which is outside the valid range of [0, "
                            "3).  Label values: 1 7"));
}

TEST_F(NnTest, CheckNumericsSaysWhatItFound) {
  const auto check = [&](std::initializer_list<float> values) {
    return Run(OpNode("CheckNumerics").Attr("message", "msg"), {Tensor::Vector<float>(values)})
        .status();
  };
  EXPECT_TRUE(check({1, 2}).ok());
  EXPECT_EQ(check({kNan}), InvalidArgument("msg : Tensor had NaN values"));
  EXPECT_EQ(check({1, -kInf}), InvalidArgument("msg : Tensor had Inf values"));
  EXPECT_EQ(check({kNan, kInf}), InvalidArgument("msg : Tensor had Inf and NaN values"));
  EXPECT_EQ(Run(OpNode("CheckNumericsV2").Attr("message", "msg"),
                {Tensor::Vector<float>({kNan, kInf, -kInf})})
                .status(),
            InvalidArgument("msg : Tensor had -Inf, +Inf, and NaN values"));
}

TEST_F(NnTest, TopKSortsAndPrefersTheLeftOfEquals) {
  const Tensor x = Tensor::Of<float>({2, 4}, {3, 1, 3, 2, 0, 9, 9, 9});
  for (const int k : {0, 1, 2, 3, 4}) {
    const std::vector<Tensor> out = *Run("TopKV2", {x, Tensor::Scalar<int32_t>(k)});
    const std::vector<int32_t> first = {0, 2, 3, 1}, second = {1, 2, 3, 0};
    for (int i = 0; i < k; ++i) {
      EXPECT_EQ(out[1].values<int32_t>()[i], first[i]);
      EXPECT_EQ(out[1].values<int32_t>()[k + i], second[i]);
      EXPECT_EQ(out[0].values<float>()[i], x.values<float>()[first[i]]);
    }
  }
  EXPECT_EQ(Run("TopKV2", {x, Tensor::Scalar<int32_t>(5)}).status(),
            InvalidArgument("input must have at least k columns. Had 4, needed 5"));
}

TEST_F(NnTest, InTopKIsFalseForWhatCannotBeSaid) {
  const Tensor predictions = Tensor::Of<float>({4, 3}, {1, 2, 3, 1, 1, 1, kNan, 1, 2, 1, 2, 3});
  ExpectSame(RunOne("InTopKV2", {predictions, Tensor::Vector<int32_t>({0, 2, 1, 5}),
                                 Tensor::Scalar<int32_t>(2)}),
             Tensor::Vector<bool>({false, true, false, false}));
}

TEST_F(NnTest, SelectPicksElementsRowsOrAll) {
  const Tensor t = Tensor::Of<int32_t>({2, 2}, {1, 2, 3, 4}),
               e = Tensor::Of<int32_t>({2, 2}, {5, 6, 7, 8});
  ExpectSame(RunOne("Select", {Tensor::Of<bool>({2, 2}, {true, false, false, true}), t, e}),
             Tensor::Of<int32_t>({2, 2}, {1, 6, 7, 4}));
  ExpectSame(RunOne("Select", {Tensor::Vector<bool>({false, true}), t, e}),
             Tensor::Of<int32_t>({2, 2}, {5, 6, 3, 4}));
  ExpectSame(RunOne("Select", {Tensor::Scalar(true), t, e}), t);
  EXPECT_THAT(Run("Select", {Tensor::Vector<bool>({true, true, true}), t, e}).status().message(),
              HasSubstr("must match size of 'cond', but saw: 2 vs. 3"));
}

TEST_F(NnTest, SelectV2BroadcastsAllThree) {
  ExpectSame(RunOne("SelectV2", {Tensor::Of<bool>({2, 1}, {true, false}),
                                 Tensor::Vector<std::string>({"a", "b"}), Tensor::Scalar("z")}),
             Tensor::Of<std::string>({2, 2}, {"a", "b", "z", "z"}));
  EXPECT_EQ(Run("SelectV2", {Tensor::Vector<bool>({true, true, true}),
                             Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({1, 2})})
                .status(),
            InvalidArgument("condition [3], then [2], and else [2] must be broadcastable"));
}

TEST_F(NnTest, ClipByValueKeepsNanAndLetsTheLowerBoundWin) {
  ExpectSame(RunOne("ClipByValue", {Tensor::Vector<float>({-1, 3, 9, kNan}), Tensor::Scalar(0.0f),
                                    Tensor::Scalar(5.0f)}),
             Tensor::Vector<float>({0, 3, 5, kNan}));
  ExpectSame(RunOne("ClipByValue",
                    {Tensor::Vector<float>({1, 9}), Tensor::Scalar(5.0f), Tensor::Scalar(1.0f)}),
             Tensor::Vector<float>({5, 5}));
}

TEST_F(NnTest, CastConvertsLikeTheProcessor) {
  const Tensor x = Tensor::Vector<float>({300.7f, -1.5f, 1e10f});
  const auto cast = [&](DType to) { return RunOne(OpNode("Cast").Attr("DstT", to), {x}); };
  ExpectSame(cast(DType::kInt32),
             Tensor::Vector<int32_t>({300, -1, std::numeric_limits<int32_t>::min()}));
  ExpectSame(cast(DType::kInt64), Tensor::Vector<int64_t>({300, -1, 10000000000}));
  ExpectSame(cast(DType::kInt8), Tensor::Vector<int8_t>({44, -1, 0}));
  ExpectSame(cast(DType::kUInt32), Tensor::Vector<uint32_t>({300, 4294967295, 1410065408}));
  ExpectSame(cast(DType::kBool), Tensor::Vector<bool>({true, true, true}));
  ExpectSame(RunOne(OpNode("Cast").Attr("DstT", DType::kFloat), {cast(DType::kComplex64)}), x);
  EXPECT_THAT(
      Run(OpNode("Cast").Attr("DstT", DType::kFloat), {Tensor::Scalar("1")}).status().message(),
      HasSubstr("Cast string to float is not supported"));
}

TEST_F(NnTest, CastWithTruncateRoundsTowardsZero) {
  const Tensor x = Tensor::Vector<float>({1.9999999f, 3.9999f});
  const Tensor half = RunOne(OpNode("Cast").Attr("DstT", DType::kHalf).Attr("Truncate", true), {x});
  ExpectSame(RunOne(OpNode("Cast").Attr("DstT", DType::kFloat), {half}),
             Tensor::Vector<float>({1.9990234375f, 3.998046875f}));
}

TEST_F(NnTest, PartsOfComplexNumbersMakeThemAgain) {
  using C = std::complex<float>;
  const Tensor z = Tensor::Vector<C>({{3, 4}, {-1, 0}});
  const Tensor re = RunOne("Real", {z}), im = RunOne("Imag", {z});
  ExpectSame(RunOne("Complex", {re, im}), z);
  ExpectSame(RunOne("Conj", {z}), Tensor::Vector<C>({{3, -4}, {-1, 0}}));
  ExpectClose(RunOne("ComplexAbs", {z}), Tensor::Vector<float>({5, 1}));
  ExpectClose(RunOne("Angle", {z}), Tensor::Vector<float>({0.9272952f, 3.1415927f}));
}

}  // namespace
}  // namespace tensorfleet
