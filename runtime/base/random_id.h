// Random identifiers: step ids, request ids, incarnations, handles. From the operating system's
// generator, so that two processes never share a sequence. Thread-safe.
#pragma once

#include <cstdint>

namespace tensorfleet {

// Uniform over all values but 0.
uint64_t RandomNonZero64();

}  // namespace tensorfleet
