// A token bucket: `qps` requests a second in the long run, `burst` at once. Thread-safe, first come
// first served.
#pragma once

#include <chrono>

#include "runtime/base/cancellation.h"
#include "runtime/base/clock.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::k8s {

class RateLimiter {
 public:
  // `qps` of 0 or less: no limit.
  RateLimiter(double qps, int burst, const Clock* clock);

  // Takes a token and says how long to wait before using it.
  std::chrono::nanoseconds Reserve();
  // Reserves and waits. The error is that of `cancel` (may be null).
  Status Acquire(CancellationManager* cancel);

 private:
  const double qps_;
  const double burst_;
  const Clock* const clock_;
  Mutex mu_;
  double tokens_ ABSL_GUARDED_BY(mu_);  // below 0: promised to those who wait
  std::chrono::steady_clock::time_point at_ ABSL_GUARDED_BY(mu_);
};

// Sleeps on the machine's clock; returns early with the error of `cancel` (may be null).
Status SleepFor(std::chrono::nanoseconds delay, CancellationManager* cancel);

}  // namespace tensorfleet::k8s
