#include "runtime/kernels/cpu/parsing/wire_reader.h"

namespace tensorfleet::cpu {

bool WireReader::ReadLongVarint(uint64_t* value) {
  constexpr int kMaxBytes = 10;
  uint64_t read = 0;
  for (int i = 0; i < kMaxBytes && at_ != end_; ++i) {
    const uint8_t byte = static_cast<uint8_t>(*at_++);
    read |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = read;
      return true;
    }
  }
  return false;
}

bool WireReader::Skip(uint64_t tag) {
  uint64_t ignored = 0;
  absl::string_view bytes;
  switch (tag & 7) {
    case kVarintWire:
      return ReadVarint(&ignored);
    case kFixed64Wire:
      return ReadFixed(8, &bytes);
    case kBytesWire:
      return ReadBytes(&bytes);
    case kFixed32Wire:
      return ReadFixed(4, &bytes);
    default:
      return false;
  }
}

}  // namespace tensorfleet::cpu
