#include <cmath>
#include <limits>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using NormalizationTest = OpTest;

// Four pixels of two channels.
Tensor Image() { return Tensor::Of<float>({2, 1, 2, 2}, {1, 10, 2, 20, 3, 30, 6, 40}); }
Tensor None() { return Tensor::Of<float>({0}, {}); }

TEST_F(NormalizationTest, LrnDividesByTheNeighbourhood) {
  const Tensor x = Tensor::Of<float>({1, 1, 1, 4}, {1, 2, 3, 4});
  const Tensor out = RunOne(OpNode("LRN").Attr("depth_radius", 1).Attr("beta", 1.0f), {x});
  ExpectClose(out, Tensor::Of<float>({1, 1, 1, 4}, {1.0f / 6, 2.0f / 15, 3.0f / 30, 4.0f / 26}));
  EXPECT_THAT(Run("LRN", {x.Reshaped({2, 2})}).status().message(), HasSubstr("4-dimensional"));
}

TEST_F(NormalizationTest, LrnGradIsWhatDifferencesSay) {
  const OpNode node = OpNode("LRN").Attr("depth_radius", 2).Attr("alpha", 0.3f).Attr("beta", 0.75f);
  OpNode grad_node("LRNGrad");
  grad_node.Attr("depth_radius", 2).Attr("alpha", 0.3f).Attr("beta", 0.75f);
  const Tensor x = Tensor::Of<float>({1, 1, 1, 5}, {1, -2, 0.5, 3, 1.5});
  const Tensor g = Tensor::Of<float>({1, 1, 1, 5}, {1, 2, -1, 0.5, 3});
  const auto loss = [&](const Tensor& at) {
    const Tensor y = RunOne(node, {at});
    double sum = 0;
    for (int i = 0; i < 5; ++i) sum += y.values<float>()[i] * g.values<float>()[i];
    return sum;
  };
  const Tensor grad = RunOne(grad_node, {g, x, RunOne(node, {x})});
  for (int i = 0; i < 5; ++i) {
    Tensor above = *x.Clone(), below = *x.Clone();
    above.mutable_values<float>()[i] += 1e-2f;
    below.mutable_values<float>()[i] -= 1e-2f;
    EXPECT_NEAR(grad.values<float>()[i], (loss(above) - loss(below)) / 2e-2, 2e-3) << i;
  }
}

TEST_F(NormalizationTest, LrnAgreesWithTheDefinition) {
  for (const int64_t channels : {1, 3, 8, 61}) {
    for (const int64_t radius : {0, 2, 5, 200}) {
      for (const float beta : {0.5f, 0.75f, 1.0f, 0.3f}) {
        SCOPED_TRACE(absl::StrCat(channels, " channels, radius ", radius, ", beta ", beta));
        Tensor x = *Tensor::Allocate(DType::kFloat, Shape({2, 9, 10, channels}));
        for (int64_t i = 0; i < x.num_elements(); ++i) {
          x.mutable_values<float>()[i] = static_cast<float>(i * i % 19) / 4 - 2;
        }
        Tensor want = *Tensor::Allocate(DType::kFloat, x.shape());
        for (int64_t i = 0; i < x.num_elements(); ++i) {
          double sum = 0;
          for (int64_t k = i / channels * channels; k < (i / channels + 1) * channels; ++k) {
            if (std::abs(k - i) <= radius) sum += x.values<float>()[k] * x.values<float>()[k];
          }
          want.mutable_values<float>()[i] =
              static_cast<float>(x.values<float>()[i] * std::pow(2 + 0.5 * sum, -beta));
        }
        ExpectClose(RunOne(OpNode("LRN")
                               .Attr("depth_radius", radius)
                               .Attr("bias", 2.0f)
                               .Attr("alpha", 0.5f)
                               .Attr("beta", beta),
                           {x}),
                    want);
      }
    }
  }
}

// A thousand pixels in several blocks, each channel a small ramp far from zero; the first pixel
// lies apart, so that nothing near it would do to measure distances from.
TEST_F(NormalizationTest, StatisticsAreRightFarFromZero) {
  constexpr int64_t kPixels = 1000, kChannels = 9;
  Tensor x = *Tensor::Allocate(DType::kFloat, Shape({1, 10, 100, kChannels}));
  std::vector<double> mean(kChannels), variance(kChannels);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t pixel = i / kChannels;
    x.mutable_values<float>()[i] =
        static_cast<float>(pixel == 0 ? 3000 : 2000 + pixel % 7 + i % kChannels);
    mean[i % kChannels] += x.values<float>()[i] / double{kPixels};
  }
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double distance = x.values<float>()[i] - mean[i % kChannels];
    variance[i % kChannels] += distance * distance / kPixels;
  }
  const Tensor ones = RunOne("Fill", {Tensor::Vector<int32_t>({kChannels}), Tensor::Scalar(1.0f)});
  const std::vector<Tensor> out = *Run("FusedBatchNormV3", {x, ones, ones, None(), None()});
  for (int64_t c = 0; c < kChannels; ++c) {
    EXPECT_NEAR(out[3].values<float>()[c], mean[c], 1e-3);
    EXPECT_NEAR(out[4].values<float>()[c], variance[c], variance[c] * 1e-5);
  }
}

TEST_F(NormalizationTest, TrainingUsesTheBatch) {
  const std::vector<Tensor> out =
      *Run("FusedBatchNormV3",
           {Image(), Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({0, 5}), None(), None()});
  // Means 3 and 25, variances 3.5 and 125, without bias times 4 / 3.
  ExpectClose(out[1], Tensor::Vector<float>({3, 25}));
  ExpectClose(out[2], Tensor::Vector<float>({3.5f * 4 / 3, 125.0f * 4 / 3}));
  ExpectClose(out[3], Tensor::Vector<float>({3, 25}));
  ExpectClose(out[4], Tensor::Vector<float>({3.5, 125}));
  EXPECT_EQ(out[5].shape(), Shape());
  EXPECT_NEAR(out[0].values<float>()[0], -2 / std::sqrt(3.5 + 1e-4), 1e-5);
  EXPECT_NEAR(out[0].values<float>()[7], 5 + 2 * 15 / std::sqrt(125 + 1e-4), 1e-5);
}

TEST_F(NormalizationTest, TheFactorMixesWithTheOldStatistics) {
  const std::vector<Tensor> out =
      *Run(OpNode("FusedBatchNormV3").Attr("exponential_avg_factor", 0.25f),
           {Image(), Tensor::Vector<float>({1, 1}), Tensor::Vector<float>({0, 0}),
            Tensor::Vector<float>({7, 5}), Tensor::Vector<float>({1, 1})});
  ExpectClose(out[1], Tensor::Vector<float>({6, 10}));
  ExpectClose(out[2], Tensor::Vector<float>({0.75f + 3.5f / 3, 0.75f + 125.0f / 3}));
  ExpectClose(out[4], Tensor::Vector<float>({3.5, 125}));
}

TEST_F(NormalizationTest, InferenceUsesWhatIsGiven) {
  const std::vector<Tensor> out =
      *Run(OpNode("FusedBatchNormV2").Attr("is_training", false).Attr("epsilon", 0.0f),
           {Image(), Tensor::Vector<float>({2, 1}), Tensor::Vector<float>({1, 0}),
            Tensor::Vector<float>({1, 10}), Tensor::Vector<float>({4, 100})});
  ExpectClose(out[0], Tensor::Of<float>({2, 1, 2, 2}, {1, 0, 2, 1, 3, 2, 6, 3}));
  ExpectSame(out[1], Tensor::Vector<float>({1, 10}));
  ExpectSame(out[2], Tensor::Vector<float>({4, 100}));
}

TEST_F(NormalizationTest, ChannelsFirstGivesTheSame) {
  const auto first = [&](const Tensor& t) {
    return RunOne("Transpose", {t, Tensor::Vector<int32_t>({0, 3, 1, 2})});
  };
  const Tensor scale = Tensor::Vector<float>({1, 2}), offset = Tensor::Vector<float>({0, 5});
  const Tensor y = RunOne("FusedBatchNorm", {Image(), scale, offset, None(), None()});
  ExpectSame(RunOne(OpNode("FusedBatchNorm").Attr("data_format", "NCHW"),
                    {first(Image()), scale, offset, None(), None()}),
             first(y));
}

TEST_F(NormalizationTest, AnEmptyBatchHasNoMean) {
  const std::vector<Tensor> out =
      *Run("FusedBatchNormV3", {Tensor::Of<float>({0, 1, 2, 2}, {}), Tensor::Vector<float>({1, 2}),
                                Tensor::Vector<float>({0, 5}), None(), None()});
  EXPECT_TRUE(std::isnan(out[1].values<float>()[0]));
  ExpectSame(out[3], Tensor::Vector<float>({0, 0}));
}

TEST_F(NormalizationTest, BatchNormGradIsWhatDifferencesSay) {
  const Tensor g = Tensor::Of<float>({2, 1, 2, 2}, {1, 0.5, -1, 2, 0.3f, -1, 2, 1});
  const Tensor scale = Tensor::Vector<float>({1.5, 2}), offset = Tensor::Vector<float>({0, 5});
  for (const bool is_training : {true, false}) {
    const OpNode node = OpNode("FusedBatchNormV3").Attr("is_training", is_training);
    const Tensor mean = Tensor::Vector<float>({2, 20}), variance = Tensor::Vector<float>({4, 90});
    const auto loss = [&](const Tensor& x, const Tensor& s) {
      const Tensor y = RunOne(node, {x, s, offset, mean, variance});
      double sum = 0;
      for (int i = 0; i < 8; ++i) sum += y.values<float>()[i] * g.values<float>()[i];
      return sum;
    };
    const std::vector<Tensor> forward = *Run(node, {Image(), scale, offset, mean, variance});
    const std::vector<Tensor> grad =
        *Run(OpNode("FusedBatchNormGradV3").Attr("is_training", is_training),
             {g, Image(), scale, forward[3], forward[4], None()});
    const auto slope = [&](bool of_scale, int i) {
      const auto moved = [&](float by) {
        Tensor at = *(of_scale ? scale : Image()).Clone();
        at.mutable_values<float>()[i] += by;
        return of_scale ? loss(Image(), at) : loss(at, scale);
      };
      return (moved(0.02f) - moved(-0.02f)) / 0.04;
    };
    for (int i = 0; i < 8; ++i) EXPECT_NEAR(grad[0].values<float>()[i], slope(false, i), 3e-3);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(grad[1].values<float>()[i], slope(true, i), 3e-3);
    ExpectClose(grad[2], Tensor::Vector<float>({2.3f, 2.5f}));
  }
}

// Not trained, the gradient is that of a scaling: no value of x makes it NaN.
TEST_F(NormalizationTest, TheGradientOfAFrozenNormalizationIsFiniteBesideInfinities) {
  const Tensor one = Tensor::Vector<float>({1, 1});
  Tensor image = *Image().Clone();
  image.mutable_values<float>()[3] = std::numeric_limits<float>::infinity();
  const Tensor dy = *Tensor::Zeros(DType::kFloat, image.shape());
  const std::vector<Tensor> grad = *Run(OpNode("FusedBatchNormGradV3").Attr("is_training", false),
                                        {dy, image, one, one, one, None()});
  ExpectSame(grad[0], dy);
}

TEST_F(NormalizationTest, NamesVectorsThatDoNotFit) {
  const Tensor two = Tensor::Vector<float>({1, 2}), three = Tensor::Vector<float>({1, 2, 3});
  EXPECT_EQ(Run("FusedBatchNormV3", {Image(), three, two, None(), None()}).status(),
            InvalidArgument(
                "scale must have the same number of elements as the channels of x, got 3 and 2"));
  EXPECT_THAT(Run(OpNode("FusedBatchNormV3").Attr("is_training", false),
                  {Image(), two, two, None(), None()})
                  .status()
                  .message(),
              HasSubstr("When is_training=false, mean must have"));
  EXPECT_THAT(
      Run("FusedBatchNormV3", {Image(), two, two, Tensor::Scalar(0.0f), None()}).status().message(),
      HasSubstr("estimated_mean must be 1-dimensional[]"));
  EXPECT_THAT(Run("FusedBatchNormV3", {Image().Reshaped({4, 2, 1}), two, two, None(), None()})
                  .status()
                  .message(),
              HasSubstr("4 or 5-dimensional"));
}

}  // namespace
}  // namespace tensorfleet
