// Assertions are for our own bugs, never for bad input, a peer or the machine: those return a
// Status.
#pragma once

namespace tensorfleet {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}

// Ends the process with file, line and condition when `condition` does not hold. On in every build.
#define TFLEET_CHECK(condition)       \
  (__builtin_expect(!!(condition), 1) \
       ? (void)0                      \
       : ::tensorfleet::CheckFailed(__FILE__, __LINE__, #condition))

// Like TFLEET_CHECK, but only in builds without NDEBUG: for hot paths.
#ifdef NDEBUG
#define TFLEET_DCHECK(condition) ((void)sizeof(!(condition)))
#else
#define TFLEET_DCHECK(condition) TFLEET_CHECK(condition)
#endif
