#include "runtime/base/clock.h"

namespace tensorfleet {
namespace {

class RealClock final : public Clock {
 public:
  int64_t NowUnixNanos() const override {
    return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  std::chrono::steady_clock::time_point NowSteady() const override {
    return std::chrono::steady_clock::now();
  }
};

}  // namespace

const Clock* Clock::Real() {
  static const RealClock* clock = new RealClock;
  return clock;
}

}  // namespace tensorfleet
