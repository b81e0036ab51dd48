#include "runtime/kernels/cpu/image/codecs.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace tensorfleet::cpu {
namespace {

uint32_t LittleEndian(absl::string_view bytes, size_t at, int count) {
  uint32_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

}  // namespace

ImageFormat FormatOf(absl::string_view contents) {
  if (absl::StartsWith(contents, "\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (absl::StartsWith(contents, "\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (absl::StartsWith(contents, "GIF8")) return ImageFormat::kGif;
  if (absl::StartsWith(contents, "BM")) return ImageFormat::kBmp;
  return ImageFormat::kUnknown;
}

const char* FormatName(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kGif:
      return "GIF";
    case ImageFormat::kBmp:
      return "BMP";
    case ImageFormat::kUnknown:
      break;
  }
  return "unknown";
}

Status CheckImageSize(absl::string_view what, int64_t height, int64_t width, int64_t channels) {
  // Each is below 2^32, so two of them can be multiplied, and three of what passes that.
  if (height <= 0 || width <= 0 || channels <= 0 || height >= kMostImageValues ||
      width >= kMostImageValues || height * width >= kMostImageValues ||
      height * width * channels >= kMostImageValues) {
    return InvalidArgument("the ", what, " image is of ", height, " x ", width, " x ", channels,
                           " values: it must have at least 1 and fewer than ", kMostImageValues);
  }
  return OkStatus();
}

StatusOr<Tensor> DecodeBmp(absl::string_view contents, int channels) {
  constexpr size_t kHeader = 30;  // as far as it says anything that counts here
  if (contents.size() < kHeader) {
    return InvalidArgument("Incomplete bmp content, requires at least ", kHeader,
                           " bytes to find the header, got ", contents.size(), " bytes");
  }
  const int64_t start = LittleEndian(contents, 10, 4);
  const int64_t width = static_cast<int32_t>(LittleEndian(contents, 18, 4));
  const int64_t signed_height = static_cast<int32_t>(LittleEndian(contents, 22, 4));
  const int64_t bits = LittleEndian(contents, 28, 2);
  const bool is_top_down = signed_height < 0;
  const int64_t height = is_top_down ? -signed_height : signed_height;
  const int64_t inherent = bits / 8;
  if (bits % 8 != 0 || (inherent != 1 && inherent != 3 && inherent != 4)) {
    return InvalidArgument("Number of channels inherent in the image must be 1, 3 or 4, was ",
                           inherent, " (", bits, " bits a pixel)");
  }
  if (channels != 0 && channels != inherent) {
    return InvalidArgument("channels attribute ", channels,
                           " does not match bits per pixel from file ", inherent);
  }
  TFLEET_RETURN_IF_ERROR(CheckImageSize("BMP", height, width, inherent));
  const int64_t row_bytes = (inherent * width + 3) / 4 * 4;
  if (start < 0 || start > static_cast<int64_t>(contents.size()) ||
      row_bytes * height > static_cast<int64_t>(contents.size()) - start) {
    return InvalidArgument("Incomplete bmp content, requires at least ", start + row_bytes * height,
                           " bytes, got ", contents.size(), " bytes");
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kUInt8, {height, width, inherent}));
  uint8_t* to = out.mutable_values<uint8_t>().data();
  for (int64_t y = 0; y < height; ++y) {
    const int64_t row = is_top_down ? y : height - 1 - y;
    const auto* from = reinterpret_cast<const uint8_t*>(contents.data()) + start + row * row_bytes;
    if (inherent == 1) {
      to = std::copy(from, from + width, to);
      continue;
    }
    for (int64_t x = 0; x < width; ++x, from += inherent, to += inherent) {
      to[0] = from[2];
      to[1] = from[1];
      to[2] = from[0];
      if (inherent == 4) to[3] = from[3];
    }
  }
  return out;
}

}  // namespace tensorfleet::cpu
