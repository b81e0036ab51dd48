// Image files to pixels and back, by libpng, libjpeg-turbo and giflib. What comes in is hostile
// until decoded: sizes are bounded before memory is taken. Errors: InvalidArgument for what is not
// such a file, or a damaged one; ResourceExhausted; the step's when it is cancelled meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

enum class ImageFormat { kUnknown, kJpeg, kPng, kGif, kBmp };
// By the first bytes.
ImageFormat FormatOf(absl::string_view contents);
const char* FormatName(ImageFormat format);

// No image has more values than this, as in TensorFlow.
inline constexpr int64_t kMostImageValues = int64_t{1} << 29;
// Errors: InvalidArgument for an image of `what` with no pixels or too many values.
Status CheckImageSize(absl::string_view what, int64_t height, int64_t width, int64_t channels);

// Height, width, channels. `channels` of 0 takes as many as the file has; 1 (grey) to 4 (red,
// green, blue, opacity). `type` is uint8 or uint16.
StatusOr<Tensor> DecodePng(absl::string_view contents, int channels, DType type,
                           const CancellationManager* step);
// Bytes of a PNG; `pixels` is of `type`, rows without gaps; `compression` -1 to 9.
StatusOr<std::string> EncodePng(const void* pixels, DType type, int64_t height, int64_t width,
                                int64_t channels, int compression);

struct JpegDecoding {
  int channels = 0;  // 0, 1 or 3
  int ratio = 1;     // 1, 2, 4 or 8: makes the image so many times smaller
  bool fancy_upscaling = true;
  bool recovers_truncated = false;
  float acceptable_fraction = 1;  // of the lines, of a truncated one
  bool is_fast = true;            // the faster, less exact transform
  bool crops = false;
  int64_t crop_y = 0, crop_x = 0, crop_height = 0, crop_width = 0;
};
StatusOr<Tensor> DecodeJpeg(absl::string_view contents, const JpegDecoding& options,
                            const CancellationManager* step);
struct JpegShape {
  int64_t height = 0, width = 0, channels = 0;
};
StatusOr<JpegShape> ReadJpegShape(absl::string_view contents);

struct JpegEncoding {
  int quality = 95;
  bool is_progressive = false;
  bool optimizes_size = false;
  bool downsamples_chroma = true;
  int density_unit = 1;  // 1: inch, 2: centimetre
  int x_density = 300, y_density = 300;
  std::string xmp_metadata;
};
// `channels` is 1 or 3.
StatusOr<std::string> EncodeJpeg(const uint8_t* pixels, int64_t height, int64_t width,
                                 int64_t channels, const JpegEncoding& options);

// Frames, height, width, 3; of `most_frames` frames at most, but all are counted in `*frames`.
StatusOr<Tensor> DecodeGif(absl::string_view contents, int64_t most_frames, int64_t* frames,
                           const CancellationManager* step);

// Height, width, channels, which are 0 (what the file has), 1, 3 or 4.
StatusOr<Tensor> DecodeBmp(absl::string_view contents, int channels);

}  // namespace tensorfleet::cpu
