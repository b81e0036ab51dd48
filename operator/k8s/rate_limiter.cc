#include "operator/k8s/rate_limiter.h"

#include <algorithm>

namespace tensorfleet::k8s {

RateLimiter::RateLimiter(double qps, int burst, const Clock* clock)
    : qps_(qps),
      burst_(std::max(burst, 1)),
      clock_(clock),
      tokens_(burst_),
      at_(clock->NowSteady()) {}

std::chrono::nanoseconds RateLimiter::Reserve() {
  if (qps_ <= 0) return {};
  MutexLock lock(&mu_);
  const auto now = clock_->NowSteady();
  tokens_ = std::min(burst_, tokens_ + std::chrono::duration<double>(now - at_).count() * qps_);
  at_ = now;
  tokens_ -= 1;
  if (tokens_ >= 0) return {};
  return std::chrono::nanoseconds(static_cast<int64_t>(-tokens_ / qps_ * 1e9));
}

Status RateLimiter::Acquire(CancellationManager* cancel) {
  const auto delay = Reserve();
  return delay.count() == 0 ? OkStatus() : SleepFor(delay, cancel);
}

Status SleepFor(std::chrono::nanoseconds delay, CancellationManager* cancel) {
  Notification woken;
  if (cancel == nullptr) {
    woken.WaitFor(delay);
    return OkStatus();
  }
  const auto token = cancel->Register([&woken] { woken.Notify(); });
  if (token < 0) return cancel->status();
  woken.WaitFor(delay);
  cancel->Deregister(token);
  return cancel->is_cancelled() ? cancel->status() : OkStatus();
}

}  // namespace tensorfleet::k8s
