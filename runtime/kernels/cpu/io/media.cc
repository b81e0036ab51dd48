#include "runtime/kernels/cpu/io/media.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace tensorfleet::cpu {
namespace {

void AppendBigEndian(uint32_t value, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(value >> shift));
}
void AppendLittleEndian(uint32_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Length, type, data, and the checksum of type and data.
void AppendChunk(const char* type, const std::string& data, std::string* png) {
  AppendBigEndian(static_cast<uint32_t>(data.size()), png);
  const size_t start = png->size();
  png->append(type, 4);
  png->append(data);
  AppendBigEndian(
      static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(png->data() + start),
                                  static_cast<uInt>(png->size() - start))),
      png);
}

}  // namespace

std::string EncodePng(absl::Span<const uint8_t> pixels, int height, int width, int channels) {
  constexpr char kColorTypes[] = {0, 4, 2,
                                  6};  // grey, grey with opacity, colours, colours with opacity
  TFLEET_CHECK(channels >= 1 && channels <= 4);
  const size_t row_bytes = static_cast<size_t>(width) * channels;
  TFLEET_CHECK(pixels.size() == row_bytes * height);
  std::string header;
  AppendBigEndian(static_cast<uint32_t>(width), &header);
  AppendBigEndian(static_cast<uint32_t>(height), &header);
  header.push_back(8);  // bits
  header.push_back(kColorTypes[channels - 1]);
  header.append(3, '\0');  // the only compression, the only set of filters, not interlaced

  // Each row begins with its filter: 1 says that a byte is the difference to the pixel on its left.
  std::string rows;
  rows.reserve((row_bytes + 1) * height);
  for (int y = 0; y < height; ++y) {
    const uint8_t* row = pixels.data() + y * row_bytes;
    rows.push_back(1);
    for (size_t x = 0; x < row_bytes; ++x) {
      const uint8_t left = x >= static_cast<size_t>(channels) ? row[x - channels] : 0;
      rows.push_back(static_cast<char>(row[x] - left));
    }
  }
  uLongf size = compressBound(rows.size());
  std::string compressed(size, '\0');
  TFLEET_CHECK(compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
                         reinterpret_cast<const Bytef*>(rows.data()), rows.size(),
                         Z_DEFAULT_COMPRESSION) == Z_OK);
  compressed.resize(size);

  std::string png("\x89PNG\r\n\x1a\n", 8);
  AppendChunk("IHDR", header, &png);
  AppendChunk("IDAT", compressed, &png);
  AppendChunk("IEND", "", &png);
  return png;
}

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
