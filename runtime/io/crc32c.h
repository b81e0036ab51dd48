// CRC-32C (Castagnoli), as TFRecord files, checkpoints and their indexes carry it.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tensorfleet {

// The checksum of what `crc` is the checksum of, followed by `data`; 0 is the checksum of nothing.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view data);
inline uint32_t Crc32c(absl::string_view data) { return ExtendCrc32c(0, data); }

// Checksums are stored masked, since the checksum of bytes that hold their own checksum is no good
// one.
inline uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
inline uint32_t UnmaskCrc(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace tensorfleet
