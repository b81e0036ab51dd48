#include "runtime/base/timer_queue.h"

#include <pthread.h>

#include "runtime/base/contain.h"
#include "runtime/base/log.h"

namespace tensorfleet {

TimerQueue::~TimerQueue() {
  bool started = false;
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    started = thread_.joinable();
    changed_.NotifyAll();
  }
  if (started) thread_.join();
}

TimerQueue::Id TimerQueue::RunAt(TimePoint when, std::function<void()> what) {
  MutexLock lock(&mu_);
  const Id id = next_id_++;
  const auto it = timers_.emplace(std::make_pair(when, id), std::move(what)).first;
  when_[id] = when;
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { Loop(); });
    pthread_setname_np(thread_.native_handle(), "timers");
  }
  if (it == timers_.begin()) changed_.NotifyAll();
  return id;
}

bool TimerQueue::Cancel(Id id) {
  std::function<void()> dropped;  // destroyed outside the lock
  MutexLock lock(&mu_);
  const auto it = when_.find(id);
  if (it == when_.end()) return false;
  const auto timer = timers_.find({it->second, id});
  dropped = std::move(timer->second);
  timers_.erase(timer);
  when_.erase(it);
  return true;
}

void TimerQueue::Loop() {
  mu_.Lock();
  while (!stopping_) {
    if (timers_.empty()) {
      changed_.Wait(&mu_);
      continue;
    }
    const auto first = timers_.begin();
    if (first->first.first > std::chrono::steady_clock::now()) {
      const TimePoint until = first->first.first;
      changed_.WaitUntil(&mu_, until);
      continue;
    }
    std::function<void()> what = std::move(first->second);
    when_.erase(first->first.second);
    timers_.erase(first);
    mu_.Unlock();
    const Status thrown = Contained(what);
    if (!thrown.ok()) LogError("a timer's work was broken off", {{"error", thrown.ToString()}});
    what = nullptr;
    mu_.Lock();
  }
  mu_.Unlock();
}

}  // namespace tensorfleet
