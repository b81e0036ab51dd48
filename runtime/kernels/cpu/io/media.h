// Sounds as files hold them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace tensorfleet::cpu {

// A WAV of 16 bits a sample; `samples` has frames * channels values, of which -1 to 1 is the range.
std::string EncodeWav(absl::Span<const float> samples, int64_t frames, int channels,
                      int sample_rate);

}  // namespace tensorfleet::cpu
