// Working on rows of a table that are picked by number.
#pragma once

#include <algorithm>
#include <cstdint>

// For loops over the elements of one row, which are often few: they are taken one vector at a time,
// so that few are left over. Input and output are the same memory or apart.
#if defined(__clang__)
#define TFLEET_VECTORIZE_ROW _Pragma("clang loop vectorize(assume_safety) interleave_count(1)")
#else
#define TFLEET_VECTORIZE_ROW _Pragma("GCC ivdep")
#endif

namespace tensorfleet {

// How many rows ahead of its use a row's memory is asked for.
inline constexpr int64_t kRowsAhead = 4;

// Asks for the memory of a row, or the beginning of a long one, that is needed soon.
inline void PrefetchRow(const void* row, int64_t bytes) {
  constexpr int64_t kCacheLine = 64, kMost = 8 * kCacheLine;
  for (int64_t at = 0; at < std::min(bytes, kMost); at += kCacheLine) {
    __builtin_prefetch(static_cast<const char*>(row) + at);
  }
}

}  // namespace tensorfleet
