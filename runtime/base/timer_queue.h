// Runs closures at a time: deadlines, reminders in the log. One thread, started by the first timer.
// Thread-safe. Closures must be short and must not block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"

namespace tensorfleet {

class TimerQueue {
 public:
  using Id = int64_t;
  using TimePoint = std::chrono::steady_clock::time_point;

  TimerQueue() = default;
  // Drops the timers that have not fired.
  ~TimerQueue();
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  Id RunAt(TimePoint when, std::function<void()> what);
  Id RunAfter(std::chrono::nanoseconds delay, std::function<void()> what) {
    return RunAt(std::chrono::steady_clock::now() + delay, std::move(what));
  }
  // False when it fired already or is firing now; does not wait for it.
  bool Cancel(Id id);

 private:
  void Loop();

  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  Id next_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<std::pair<TimePoint, Id>, std::function<void()>> timers_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<Id, TimePoint> when_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace tensorfleet
