// Notices that a task is gone or silent while collectives wait for it: neither its connection nor
// its step may ever say so. A task with waiters is asked for its status, which it answers at once
// however busy it is. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/timer_queue.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet {

class MemberWatch : public std::enable_shared_from_this<MemberWatch> {
 public:
  using Id = int64_t;

  // A task that has not answered for `silence` is taken for dead. `timers` must outlive the watch.
  MemberWatch(TimerQueue* timers, std::chrono::milliseconds silence)
      : timers_(timers), silence_(silence) {}

  // Calls `on_silent` once when the task is found silent, unless Leave comes before.
  Id Enter(const std::string& task, std::shared_ptr<WorkerInterface> peer,
           std::function<void(const Status& why)> on_silent);
  void Leave(const std::string& task, Id id);

 private:
  struct Task {
    std::shared_ptr<WorkerInterface> peer;
    std::map<Id, std::function<void(const Status&)>> waiters;
  };
  std::chrono::milliseconds period() const { return silence_ / 5; }
  void AskLater(const std::string& task);
  void Ask(const std::string& task);

  TimerQueue* const timers_;
  const std::chrono::milliseconds silence_;
  Mutex mu_;
  Id next_id_ ABSL_GUARDED_BY(mu_) = 1;
  absl::flat_hash_map<std::string, Task> tasks_ ABSL_GUARDED_BY(mu_);  // while anybody waits
};

}  // namespace tensorfleet
