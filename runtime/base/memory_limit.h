// How much memory the process may have. At the limit of its container or of `ulimit` a process is
// ended, or libraries end it that can't do without memory. So what asks for much is refused while
// there still is some: operator new throws std::bad_alloc, tensors are ResourceExhausted.
#pragma once

#include <cstddef>

namespace tensorfleet {

// Requests below this are never refused: looking costs about a microsecond.
inline constexpr size_t kMemoryWorthLooking = size_t{1} << 20;

// Whether `bytes` more still leave some of the limits, those of the machine, the control group and
// the address space; as they were when first asked for. `counted` are bytes that the caller knows
// to be in use, touched or not.
bool MemoryAllows(size_t bytes, size_t counted = 0) noexcept;

// The least of those limits, less what is left for small requests; for messages and metrics.
size_t MemoryLimit() noexcept;
// A limit instead of the machine's and the control group's; 0 takes it away. That of the address
// space holds all the same.
void SetMemoryLimit(size_t bytes) noexcept;

}  // namespace tensorfleet
