// Pictures and sounds as files hold them, for summaries.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace tensorfleet::cpu {

// A PNG of 8 bits a channel; `pixels` has height * width * channels bytes, 1 channel (grey) to 4
// (red, green, blue, opacity).
std::string EncodePng(absl::Span<const uint8_t> pixels, int height, int width, int channels);

// A WAV of 16 bits a sample; `samples` has frames * channels values, of which -1 to 1 is the range.
std::string EncodeWav(absl::Span<const float> samples, int64_t frames, int channels,
                      int sample_rate);

}  // namespace tensorfleet::cpu
