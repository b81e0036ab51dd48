// FarmHash's Fingerprint64: a 64-bit hash of bytes that never changes, which TensorFlow uses to
// sort strings into buckets. Not for protection against adversaries.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tensorfleet::cpu {

uint64_t Fingerprint64(absl::string_view bytes);

}  // namespace tensorfleet::cpu
