#include "runtime/session/worker/collective/member_watch.h"

#include <utility>

namespace tensorfleet {

MemberWatch::Id MemberWatch::Enter(const std::string& task, std::shared_ptr<WorkerInterface> peer,
                                   std::function<void(const Status& why)> on_silent) {
  Id id = 0;
  bool is_first = false;
  {
    MutexLock lock(&mu_);
    const auto [it, is_new] = tasks_.try_emplace(task);
    is_first = is_new;
    id = next_id_++;
    it->second.peer = std::move(peer);
    it->second.waiters[id] = std::move(on_silent);
  }
  if (is_first) AskLater(task);
  return id;
}

void MemberWatch::Leave(const std::string& task, Id id) {
  std::function<void(const Status&)> gone;  // destroyed outside the lock
  MutexLock lock(&mu_);
  const auto it = tasks_.find(task);
  if (it == tasks_.end()) return;
  const auto waiter = it->second.waiters.find(id);
  if (waiter == it->second.waiters.end()) return;
  gone = std::move(waiter->second);
  it->second.waiters.erase(waiter);
}

void MemberWatch::AskLater(const std::string& task) {
  timers_->RunAfter(period(), [weak = weak_from_this(), task] {
    if (const auto self = weak.lock()) self->Ask(task);
  });
}

void MemberWatch::Ask(const std::string& task) {
  std::shared_ptr<WorkerInterface> peer;
  {
    MutexLock lock(&mu_);
    const auto it = tasks_.find(task);
    if (it == tasks_.end()) return;
    if (it->second.waiters.empty()) {
      tasks_.erase(it);
      return;
    }
    peer = it->second.peer;
  }
  CallOptions options;
  options.timeout = silence_ - period();
  peer->GetStatus(options, [weak = weak_from_this(),
                            task](const StatusOr<std::vector<DeviceAttributes>>& devices) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    if (devices.ok()) return self->AskLater(task);
    Task silent;
    {
      MutexLock lock(&self->mu_);
      const auto it = self->tasks_.find(task);
      if (it == self->tasks_.end()) return;
      silent = std::move(it->second);
      self->tasks_.erase(it);
    }
    const Status why = Unavailable(task, " does not answer: ", devices.status().message());
    for (auto& [id, on_silent] : silent.waiters) on_silent(why);
  });
}

}  // namespace tensorfleet
