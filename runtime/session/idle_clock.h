// How long nothing has happened to something, without a look at a clock when something does: uses
// are counted, and who asks now and then sees whether the count has changed. Thread-safe, but for
// IdleAt, which one thread at a time may call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tensorfleet {

class IdleClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  void Touch() { uses_.fetch_add(1, std::memory_order_relaxed); }
  // A use that lasts until Leave.
  void Enter() { active_.fetch_add(1, std::memory_order_relaxed); }
  void Leave() {
    Touch();
    active_.fetch_sub(1, std::memory_order_relaxed);
  }

  // The time since the last use, exact to the time since this was asked last; 0 at the first time.
  std::chrono::nanoseconds IdleAt(TimePoint now) {
    const uint64_t uses = uses_.load(std::memory_order_relaxed);
    if (active_.load(std::memory_order_relaxed) > 0 || uses != seen_ || !was_asked_) {
      seen_ = uses;
      was_asked_ = true;
      since_ = now;
    }
    return now - since_;
  }

 private:
  std::atomic<uint64_t> uses_{0};
  std::atomic<int64_t> active_{0};
  uint64_t seen_ = 0;
  bool was_asked_ = false;
  TimePoint since_;
};

}  // namespace tensorfleet
