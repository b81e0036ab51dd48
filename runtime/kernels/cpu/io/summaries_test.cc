// Summaries, against what TensorFlow 2.15 makes of the same values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "absl/strings/escaping.h"
#include "proto/summary.pb.h"
#include "runtime/kernels/cpu/image/codecs.h"
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SummaryTest : public OpTest {
 protected:
  tensorflow::Summary Summarize(const OpNode& node, std::vector<OpInput> inputs) {
    tensorflow::Summary summary;
    const Tensor out = RunOne(node, std::move(inputs));
    EXPECT_TRUE(summary.ParseFromString(out.scalar<std::string>()));
    return summary;
  }
};

std::vector<int> PixelsOf(const std::string& png) {
  const StatusOr<Tensor> image = cpu::DecodePng(png, 0, DType::kUInt8, nullptr);
  EXPECT_TRUE(image.ok()) << image.status();
  const auto pixels = image->values<uint8_t>();
  return {pixels.begin(), pixels.end()};
}

TEST_F(SummaryTest, ScalarsHaveATagEach) {
  const auto summary = Summarize(
      "ScalarSummary", {Tensor::Vector<std::string>({"x", "y"}), Tensor::Vector<double>({1, 2})});
  ASSERT_EQ(summary.value_size(), 2);
  EXPECT_EQ(summary.value(1).tag(), "y");
  EXPECT_EQ(summary.value(1).simple_value(), 2);
  EXPECT_THAT(std::string(Run("ScalarSummary", {Tensor::Vector<std::string>({"x", "y"}),
                                                Tensor::Vector<float>({1, 2, 3})})
                              .status()
                              .message()),
              HasSubstr("tags and values are not the same shape: [2] != [3]"));
}

TEST_F(SummaryTest, HistogramsHaveTensorFlowsBuckets) {
  const auto summary =
      Summarize("HistogramSummary",
                {Tensor::Scalar("h"), Tensor::Vector<float>({0, 1, 1, 2.5, -3, 1e-15f, 0})});
  const tensorflow::HistogramProto& histo = summary.value(0).histo();
  EXPECT_EQ(histo.min(), -3);
  EXPECT_EQ(histo.max(), 2.5);
  EXPECT_EQ(histo.num(), 7);
  double total = 0;
  for (int i = 0; i < histo.bucket_size(); ++i) {
    total += histo.bucket(i);
    if (i > 0) EXPECT_GT(histo.bucket_limit(i), histo.bucket_limit(i - 1));
  }
  EXPECT_EQ(total, 7);
  EXPECT_EQ(histo.bucket_limit(histo.bucket_size() - 1), DBL_MAX);
  EXPECT_THAT(histo.bucket(), ElementsAre(0, 1, 0, 3, 0, 2, 0, 1, 0));
  EXPECT_THAT(histo.bucket_limit(),
              ElementsAre(-3.1665833053880363, -2.8787120958073054, 0.0, 1e-12, 0.917246389039776,
                          1.0089710279437536, 2.379100905625872, 2.6170109961884593, DBL_MAX));
}

TEST_F(SummaryTest, AnEmptyHistogramHasOneEmptyBucket) {
  const auto summary =
      Summarize("HistogramSummary", {Tensor::Scalar("h"), Tensor::Vector<float>({})});
  EXPECT_THAT(summary.value(0).histo().bucket_limit(), ElementsAre(DBL_MAX));
  EXPECT_THAT(summary.value(0).histo().bucket(), ElementsAre(0));
}

TEST_F(SummaryTest, WhatIsNoNumberHasNoHistogram) {
  EXPECT_EQ(Run(OpNode("HistogramSummary").Name("n"),
                {Tensor::Scalar("h"), Tensor::Vector<float>({0, NAN})})
                .status(),
            InvalidArgument("Nan in summary histogram for: n"));
}

TEST_F(SummaryTest, ImagesAreScaledAndBadPixelsColoured) {
  const Tensor images = Tensor::Of<float>(Shape({2, 2, 2, 1}), {0, .5f, 1, NAN, -1, .5f, 1, 0});
  const auto summary = Summarize("ImageSummary", {Tensor::Scalar("im"), images});
  ASSERT_EQ(summary.value_size(), 2);
  EXPECT_EQ(summary.value(0).tag(), "im/image/0");
  EXPECT_EQ(summary.value(0).image().colorspace(), 1);
  EXPECT_THAT(PixelsOf(summary.value(0).image().encoded_image_string()),
              ElementsAre(0, 127, 255, 255));
  EXPECT_THAT(PixelsOf(summary.value(1).image().encoded_image_string()),
              ElementsAre(1, 191, 255, 128));
  EXPECT_EQ(Summarize(OpNode("ImageSummary").Attr("max_images", 1), {Tensor::Scalar("im"), images})
                .value(0)
                .tag(),
            "im/image");
  EXPECT_EQ(Run("ImageSummary", {Tensor::Scalar("im"), Tensor::Vector<float>({1})}).status(),
            InvalidArgument("Tensor must be 4-D with last dim 1, 3, or 4, not [1]"));
}

TEST_F(SummaryTest, SoundsAreTheSameBytesAsTensorFlows) {
  const Tensor sound = Tensor::Of<float>(Shape({1, 3, 2}), {0, .5f, 1, -1, 2, -.25f});
  const auto summary = Summarize(OpNode("AudioSummaryV2").Attr("max_outputs", 1),
                                 {Tensor::Scalar("au"), sound, Tensor::Scalar<float>(8000)});
  const tensorflow::Summary::Audio& audio = summary.value(0).audio();
  EXPECT_EQ(summary.value(0).tag(), "au/audio");
  EXPECT_EQ(audio.num_channels(), 2);
  EXPECT_EQ(audio.length_frames(), 3);
  EXPECT_EQ(absl::BytesToHexString(audio.encoded_audio_string()),
            "524946463000000057415645666d74201000000001000200401f0000007d000004001000646174610c0000"
            "0000000040ff7f0080"
            "ff7f00e0");
}

TEST_F(SummaryTest, TensorsKeepTheirMetadata) {
  tensorflow::SummaryMetadata metadata;
  metadata.mutable_plugin_data()->set_plugin_name("text");
  const auto summary =
      Summarize("TensorSummaryV2", {Tensor::Scalar("t"), Tensor::Vector<std::string>({"a", "b"}),
                                    Tensor::Scalar(metadata.SerializeAsString())});
  EXPECT_EQ(summary.value(0).metadata().plugin_data().plugin_name(), "text");
  EXPECT_THAT(summary.value(0).tensor().string_val(), ElementsAre("a", "b"));
}

TEST_F(SummaryTest, MergingRefusesATagThatIsThereTwice) {
  const Tensor x = RunOne("ScalarSummary", {Tensor::Scalar("x"), Tensor::Scalar<float>(1)});
  const Tensor y = RunOne("ScalarSummary", {Tensor::Scalar("y"), Tensor::Scalar<float>(2)});
  EXPECT_EQ(Summarize("MergeSummary", {x, y}).value_size(), 2);
  EXPECT_EQ(Run("MergeSummary", {x, x}).status(),
            InvalidArgument("Duplicate tag x found in summary inputs "));
}

}  // namespace
}  // namespace tensorfleet
