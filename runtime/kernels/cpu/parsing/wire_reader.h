// Reading the wire format of protocol buffers without making messages: what the parsing kernels
// stand on. Every read checks that the bytes are there; false means that they are malformed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace tensorfleet::cpu {

enum WireType : uint32_t { kVarintWire = 0, kFixed64Wire = 1, kBytesWire = 2, kFixed32Wire = 5 };

// The tag of a field below 16, which is one byte.
constexpr char WireTag(uint32_t field, WireType type) {
  return static_cast<char>((field << 3) | type);
}

// A place in bytes that outlive it.
class WireReader {
 public:
  WireReader() = default;
  explicit WireReader(absl::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool AtEnd() const { return at_ == end_; }
  absl::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }

  // Steps over a one-byte tag when it is the next; else stays.
  bool Accept(char tag) {
    if (at_ == end_ || *at_ != tag) return false;
    ++at_;
    return true;
  }

  bool ReadVarint(uint64_t* value) {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) {
      *value = static_cast<uint8_t>(*at_++);
      return true;
    }
    return ReadLongVarint(value);
  }

  // A length and as many bytes.
  bool ReadBytes(absl::string_view* bytes) {
    uint64_t length = 0;
    if (!ReadVarint(&length) || length > static_cast<uint64_t>(end_ - at_)) return false;
    *bytes = absl::string_view(at_, length);
    at_ += length;
    return true;
  }

  // A length and a message. A length beyond the end is cut there, which is what protobuf's own
  // stream does: the message may still be whole.
  bool ReadMessage(WireReader* message) {
    uint64_t length = 0;
    if (!ReadVarint(&length)) return false;
    length = std::min<uint64_t>(length, end_ - at_);
    *message = WireReader(absl::string_view(at_, length));
    at_ += length;
    return true;
  }

  bool ReadFixed(size_t size, absl::string_view* bytes) {
    if (static_cast<size_t>(end_ - at_) < size) return false;
    *bytes = absl::string_view(at_, size);
    at_ += size;
    return true;
  }

  // Steps over the value of a field whose tag was read. Groups are refused.
  bool Skip(uint64_t tag);

 private:
  bool ReadLongVarint(uint64_t* value);

  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace tensorfleet::cpu
