// Hashes of bytes that never change, beside Fingerprint64 (fingerprint.h).
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tensorfleet::cpu {

// MurmurHash64A with the seed that TensorFlow's tables and buckets use. Not for protection against
// adversaries.
uint64_t Hash64(absl::string_view bytes);

// SipHash-2-4: without the key nobody can tell which bytes collide.
uint64_t SipHash(const uint64_t (&key)[2], absl::string_view bytes);

}  // namespace tensorfleet::cpu
