// Time as a dependency: code that waits or stamps takes a Clock, tests give it a ManualClock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tensorfleet {

class Clock {
 public:
  using Duration = std::chrono::nanoseconds;

  virtual ~Clock() = default;
  // Nanoseconds since the Unix epoch: for stamps that people and other machines read.
  virtual int64_t NowUnixNanos() const = 0;
  // Never goes backwards: for measuring and for deadlines.
  virtual std::chrono::steady_clock::time_point NowSteady() const = 0;

  // The machine's clock; lives for ever.
  static const Clock* Real();
};

// A clock that a test moves. Safe for one mover and any number of readers.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t unix_nanos = 1'700'000'000'000'000'000) : start_(unix_nanos) {}
  int64_t NowUnixNanos() const override { return start_ + elapsed_.load(); }
  std::chrono::steady_clock::time_point NowSteady() const override {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(elapsed_.load()));
  }
  void Advance(Duration by) { elapsed_ += by.count(); }

 private:
  const int64_t start_;
  std::atomic<int64_t> elapsed_{0};
};

}  // namespace tensorfleet
