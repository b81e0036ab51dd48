// Waiting times that double, with jitter, so that many clients of a restarted server do not come
// back in step. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "runtime/base/random_id.h"

namespace tensorfleet::k8s {

class Backoff {
 public:
  Backoff(std::chrono::nanoseconds first, std::chrono::nanoseconds limit)
      : first_(first), limit_(limit), next_(first) {}

  // Between a half and the whole of the current step; the step doubles up to the limit.
  std::chrono::nanoseconds Next() {
    const auto step = next_;
    next_ = std::min(limit_, next_ * 2);
    const double share =
        0.5 + 0.5 * static_cast<double>(RandomNonZero64() >> 11) / 9007199254740992.0;
    return std::chrono::nanoseconds(static_cast<int64_t>(step.count() * share));
  }
  void Reset() { next_ = first_; }

 private:
  const std::chrono::nanoseconds first_;
  const std::chrono::nanoseconds limit_;
  std::chrono::nanoseconds next_;
};

}  // namespace tensorfleet::k8s
