// Whether the peers that a session waits for are alive. A peer that died closes its connections;
// one that was stopped, or that the network lost, just says nothing. While it is needed it is asked
// for its status now and then, which costs it nothing. (HTTP/2 pings would do the same, but
// TensorFlow's own servers hang up on those that come more often than every five minutes.)
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/timer_queue.h"
#include "runtime/session/compiled_step.h"

namespace tensorfleet {

class PeerWatch : public std::enable_shared_from_this<PeerWatch> {
 public:
  struct Options {
    TimerQueue* timers = nullptr;    // must outlive the watch
    std::vector<SessionTask> tasks;  // those of other processes are watched
    std::chrono::milliseconds period{10'000};
    std::chrono::milliseconds patience{10'000};
    // Whether anybody waits for the task now: it is asked only then.
    std::function<bool(const std::string& task)> is_needed;
    // The task did not answer in time, or its connection broke. Unavailable, naming it.
    std::function<void(const std::string& task, const Status& why)> lost;
  };
  explicit PeerWatch(Options options) : options_(std::move(options)) {}

  // Once. A callback may be under way when Stop returns; none begins later.
  void Start();
  void Stop() { is_stopped_.store(true); }

 private:
  void Tick();

  const Options options_;
  std::atomic<bool> is_stopped_{false};
};

}  // namespace tensorfleet
