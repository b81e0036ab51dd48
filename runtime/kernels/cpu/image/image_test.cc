// Image files and what is done to images; results against TensorFlow's are in the op test.
#include "runtime/kernels/cpu/image/codecs.h"
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Pattern(int64_t height, int64_t width, int64_t channels) {
  Tensor image = Tensor::Allocate(DType::kUInt8, {height, width, channels}).value();
  int i = 0;
  for (uint8_t& value : image.mutable_values<uint8_t>()) value = static_cast<uint8_t>(i++ * 7);
  return image;
}

std::string Png(const Tensor& image) {
  return EncodePng(image.raw(), image.dtype(), image.dim(0), image.dim(1), image.dim(2), -1)
      .value();
}
std::string Jpeg(const Tensor& image) {
  return EncodeJpeg(image.values<uint8_t>().data(), image.dim(0), image.dim(1), image.dim(2), {})
      .value();
}

TEST(ImageFiles, PngGivesBackWhatWasPutIn) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Tensor image = Pattern(5, 3, channels);
    const StatusOr<Tensor> back = DecodePng(Png(image), 0, DType::kUInt8, nullptr);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->shape(), image.shape());
    EXPECT_TRUE(back->values<uint8_t>() == image.values<uint8_t>());
  }
}

TEST(ImageFiles, WhatIsCutOffOrDamagedIsRefusedOrDecoded) {
  const std::string png = Png(Pattern(9, 8, 3)), jpeg = Jpeg(Pattern(20, 30, 3));
  for (size_t n = 0; n + 20 < png.size(); ++n) {
    EXPECT_EQ(DecodePng(png.substr(0, n), 0, DType::kUInt8, nullptr).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  for (size_t n = 0; n < jpeg.size() / 2; ++n) {
    EXPECT_EQ(DecodeJpeg(jpeg.substr(0, n), {}, nullptr).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  for (size_t i = 0; i < jpeg.size(); ++i) {
    std::string damaged = jpeg;
    damaged[i] ^= 0x41;
    const Status status = DecodeJpeg(damaged, {}, nullptr).status();
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  }
}

TEST(ImageFiles, LinesThatATruncatedJpegLacksAreBlack) {
  Tensor white = Tensor::Allocate(DType::kUInt8, {64, 16, 1}).value();
  for (uint8_t& value : white.mutable_values<uint8_t>()) value = 255;
  const std::string jpeg = Jpeg(white);
  JpegDecoding options;
  options.recovers_truncated = true;
  options.acceptable_fraction = 0.1f;
  EXPECT_TRUE(DecodeJpeg(jpeg.substr(0, jpeg.size() - 3), options, nullptr).ok());
}

TEST(ImageFiles, ASizeThatNoImageHasTakesNoMemory) {
  std::string png = Png(Pattern(1, 1, 3));
  for (const size_t at : {16, 20}) png[at] = 0x7f;  // width and height; the checksum is not for us
  EXPECT_EQ(DecodePng(png, 0, DType::kUInt8, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
  std::string bmp(60, '\0');
  bmp.replace(0, 2, "BM");
  bmp[21] = bmp[25] = 0x7f;
  bmp[28] = 24;
  EXPECT_THAT(std::string(DecodeBmp(bmp, 0).status().message()), HasSubstr("BMP image is of"));
}

class ImageTest : public OpTest {
 protected:
  static Tensor Image(std::initializer_list<float> pixels, int64_t height, int64_t width) {
    return Tensor::Of<float>(Shape({1, height, width, 1}), pixels);
  }
};

TEST_F(ImageTest, AnOpTellsWhichOtherOneAFileIsFor) {
  const Tensor contents = Tensor::Scalar(Png(Pattern(2, 2, 3)));
  EXPECT_THAT(std::string(Run("DecodeBmp", {contents}).status().message()),
              HasSubstr("Trying to decode PNG format using DecodeBmp op"));
  EXPECT_THAT(std::string(Run("DecodeImage", {Tensor::Scalar("nothing")}).status().message()),
              HasSubstr("One of JPEG, PNG, GIF, BMP required"));
}

TEST_F(ImageTest, ResizesByTheNearestPixelAndBetweenPixels) {
  const Tensor image = Image({1, 2, 3, 4}, 2, 2), size = Tensor::Vector<int32_t>({2, 4});
  EXPECT_THAT(RunOne("ResizeNearestNeighbor", {image, size}).values<float>(),
              ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  EXPECT_THAT(RunOne("ResizeBilinear", {image, size}).values<float>(),
              ElementsAre(1, 1.5, 2, 2, 3, 3.5, 4, 4));
  EXPECT_THAT(RunOne("ResizeArea", {image, Tensor::Vector<int32_t>({1, 1})}).values<float>(),
              ElementsAre(2.5));
}

TEST_F(ImageTest, BoxesThatOverlapABetterOneAreLeftOut) {
  const Tensor boxes = Tensor::Of<float>(Shape({3, 4}), {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 2, 1, 3});
  EXPECT_THAT(RunOne("NonMaxSuppression",
                     {boxes, Tensor::Vector<float>({0.5f, 0.9f, 0.7f}), Tensor::Scalar<int32_t>(5)})
                  .values<int32_t>(),
              ElementsAre(1, 2));
}

TEST_F(ImageTest, CropsOutsideTheImageHaveTheGivenValue) {
  const OpNode node = OpNode("CropAndResize").Attr("extrapolation_value", 9.0f);
  EXPECT_THAT(
      RunOne(node, {Image({1, 2, 3, 4}, 2, 2), Tensor::Of<float>(Shape({1, 4}), {0, 0, 2, 1}),
                    Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({3, 2})})
          .values<float>(),
      ElementsAre(1, 2, 3, 4, 9, 9));
}

}  // namespace
}  // namespace tensorfleet::cpu
