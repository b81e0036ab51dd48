// Whether what the calling thread reads or writes is still wanted. A step that is cancelled ends
// the waits of its files: requests to a store that does not answer, and the pauses before they are
// made again.
#pragma once

#include <chrono>

#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"

namespace tensorfleet {

// Until destruction, file operations of this thread end early when `cancellation` (may be null:
// never) is cancelled. Scopes may nest; the innermost counts.
class ScopedIoInterest {
 public:
  explicit ScopedIoInterest(CancellationManager* cancellation);
  ~ScopedIoInterest();
  ScopedIoInterest(const ScopedIoInterest&) = delete;
  ScopedIoInterest& operator=(const ScopedIoInterest&) = delete;

 private:
  CancellationManager* const before_;
};

// Why what this thread does is no longer wanted; OK while it is.
Status IoInterest();

// Waits for `pause`, or returns IoInterest() as soon as that is not OK.
Status PauseIo(std::chrono::milliseconds pause);

}  // namespace tensorfleet
