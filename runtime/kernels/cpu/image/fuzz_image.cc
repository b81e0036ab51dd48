// Any bytes either are refused as an image or decode to one, in every way that the ops ask for.
#include <limits>

#include "runtime/kernels/cpu/image/codecs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tensorfleet;
  SetMaxHostBufferBytes(size_t{64} << 20);
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  switch (cpu::FormatOf(bytes)) {
    case cpu::ImageFormat::kPng:
      for (const int channels : {0, 1, 3, 4}) {
        (void)cpu::DecodePng(bytes, channels, DType::kUInt8, nullptr);
        (void)cpu::DecodePng(bytes, channels, DType::kUInt16, nullptr);
      }
      break;
    case cpu::ImageFormat::kJpeg:
      (void)cpu::ReadJpegShape(bytes);
      for (const bool recovers : {false, true}) {
        cpu::JpegDecoding options;
        options.recovers_truncated = recovers;
        options.acceptable_fraction = 0;
        (void)cpu::DecodeJpeg(bytes, options, nullptr);
        options.crops = true;
        options.crop_y = options.crop_x = 1;
        options.crop_height = options.crop_width = 3;
        (void)cpu::DecodeJpeg(bytes, options, nullptr);
      }
      break;
    case cpu::ImageFormat::kGif: {
      int64_t frames = 0;
      (void)cpu::DecodeGif(bytes, std::numeric_limits<int64_t>::max(), &frames, nullptr);
      break;
    }
    case cpu::ImageFormat::kBmp:
      (void)cpu::DecodeBmp(bytes, 0);
      break;
    case cpu::ImageFormat::kUnknown:
      break;
  }
  return 0;
}
