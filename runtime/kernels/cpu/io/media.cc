#include "runtime/kernels/cpu/io/media.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace tensorfleet::cpu {
namespace {

void AppendLittleEndian(uint32_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

std::string EncodeWav(absl::Span<const float> samples, int64_t frames, int channels,
                      int sample_rate) {
  constexpr int kBytesPerSample = 2;
  TFLEET_CHECK(static_cast<int64_t>(samples.size()) == frames * channels);
  const uint32_t data_bytes = static_cast<uint32_t>(samples.size() * kBytesPerSample);
  std::string wav = "RIFF";
  AppendLittleEndian(36 + data_bytes, 4, &wav);
  wav += "WAVEfmt ";
  AppendLittleEndian(16, 4, &wav);  // bytes of the format
  AppendLittleEndian(1, 2, &wav);   // plain samples
  AppendLittleEndian(channels, 2, &wav);
  AppendLittleEndian(sample_rate, 4, &wav);
  AppendLittleEndian(sample_rate * channels * kBytesPerSample, 4, &wav);
  AppendLittleEndian(channels * kBytesPerSample, 2, &wav);
  AppendLittleEndian(8 * kBytesPerSample, 2, &wav);
  wav += "data";
  AppendLittleEndian(data_bytes, 4, &wav);
  for (const float sample : samples) {
    // What is no number is silence.
    const float scaled =
        std::isnan(sample) ? 0.0f : std::clamp(sample * 32768.0f, -32768.0f, 32767.0f);
    AppendLittleEndian(static_cast<uint16_t>(static_cast<int16_t>(std::lrint(scaled))), 2, &wav);
  }
  return wav;
}

}  // namespace tensorfleet::cpu
