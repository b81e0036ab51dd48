#include "operator/k8s/work_queue.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tensorfleet::k8s {
namespace {
constexpr std::chrono::nanoseconds kLongestDelay = std::chrono::hours(24 * 365);
}  // namespace

WorkQueue::WorkQueue(const Clock* clock, Options options)
    : clock_(clock), options_(std::move(options)) {}

void WorkQueue::PutInto(Lanes& lanes, const std::string& key) {
  const std::string ns = key.substr(0, key.find('/'));
  Lane& lane = lanes.by_namespace[ns];
  if (lane.keys.empty()) lanes.turns.push_back(ns);
  lane.keys.push_back(key);
}

std::optional<std::string> WorkQueue::TakeFrom(Lanes& lanes) {
  if (lanes.turns.empty()) return std::nullopt;
  const std::string ns = std::move(lanes.turns.front());
  lanes.turns.pop_front();
  const auto it = lanes.by_namespace.find(ns);
  Lane& lane = it->second;
  std::string key;
  if (lane.newest_next) {
    key = std::move(lane.keys.back());
    lane.keys.pop_back();
  } else {
    key = std::move(lane.keys.front());
    lane.keys.pop_front();
  }
  lane.newest_next = !lane.newest_next;
  if (lane.keys.empty()) {
    lanes.by_namespace.erase(it);
  } else {
    lanes.turns.push_back(ns);
  }
  return key;
}

WorkQueue::Lanes& WorkQueue::LanesOf(Urgency urgency) {
  return urgency == Urgency::kNew ? new_ : urgency == Urgency::kNormal ? normal_ : background_;
}

void WorkQueue::AddLocked(const std::string& key, Urgency urgency) {
  if (shut_down_) return;
  ++adds_;
  if (working_.contains(key)) {
    const auto [it, added] = again_.emplace(key, urgency);
    if (!added) it->second = std::min(it->second, urgency);
    return;
  }
  const auto [it, added] = waiting_.emplace(key, Waiting{urgency, clock_->NowSteady()});
  if (!added) {
    if (it->second.urgency <= urgency) return;
    // More urgent now: the entry in the other lane is passed over when its turn comes.
    it->second.urgency = urgency;
  }
  PutInto(LanesOf(urgency), key);
  changed_.NotifyOne();
}

void WorkQueue::Add(const std::string& key, Urgency urgency) {
  MutexLock lock(&mu_);
  AddLocked(key, urgency);
}

void WorkQueue::AddAfter(const std::string& key, std::chrono::nanoseconds delay) {
  MutexLock lock(&mu_);
  if (delay.count() <= 0) return AddLocked(key, Urgency::kNormal);
  if (shut_down_) return;
  const Time when = clock_->NowSteady() + std::min(delay, kLongestDelay);
  const auto it = appointed_.find(key);
  if (it != appointed_.end()) {
    if (it->second <= when) return;
    const auto range = appointments_.equal_range(it->second);
    const auto old =
        std::find_if(range.first, range.second, [&](const auto& e) { return e.second == key; });
    if (old != range.second) appointments_.erase(old);
  }
  appointed_[key] = when;
  appointments_.emplace(when, key);
  changed_.NotifyOne();
}

void WorkQueue::AddRateLimited(const std::string& key) {
  int failures;
  {
    MutexLock lock(&mu_);
    failures = failures_[key]++;
    ++retries_;
  }
  auto delay = options_.first_retry;
  for (int i = 0; i < failures && delay < options_.retry_limit; ++i) delay *= 2;
  AddAfter(key, std::min(delay, options_.retry_limit));
}

void WorkQueue::Forget(const std::string& key) {
  MutexLock lock(&mu_);
  failures_.erase(key);
}

void WorkQueue::PromoteLocked() {
  const Time now = clock_->NowSteady();
  while (!appointments_.empty() && appointments_.begin()->first <= now) {
    const std::string key = std::move(appointments_.begin()->second);
    appointments_.erase(appointments_.begin());
    appointed_.erase(key);
    AddLocked(key, Urgency::kNormal);
  }
}

std::optional<std::string> WorkQueue::TakeLocked() {
  PromoteLocked();
  while (true) {
    const Urgency first = new_next_ ? Urgency::kNew : Urgency::kNormal;
    const Urgency second = new_next_ ? Urgency::kNormal : Urgency::kNew;
    std::optional<std::string> key;
    Urgency from = first;
    for (const Urgency urgency : {first, second, Urgency::kBackground}) {
      from = urgency;
      if ((key = TakeFrom(LanesOf(urgency)))) break;
    }
    if (!key) return std::nullopt;
    const auto it = waiting_.find(*key);
    // Taken already through the other lane.
    if (it == waiting_.end() || it->second.urgency != from) continue;
    new_next_ = from != Urgency::kNew;
    const Time now = clock_->NowSteady();
    if (options_.on_taken) options_.on_taken(now - it->second.since);
    waiting_.erase(it);
    working_.emplace(*key, now);
    return key;
  }
}

std::optional<std::string> WorkQueue::Get() {
  MutexLock lock(&mu_);
  while (!shut_down_) {
    if (std::optional<std::string> key = TakeLocked()) {
      // One notification may have stood for several keys.
      if (!new_.turns.empty() || !normal_.turns.empty()) changed_.NotifyOne();
      return key;
    }
    if (appointments_.empty()) {
      changed_.Wait(&mu_);
    } else {
      changed_.WaitFor(&mu_, appointments_.begin()->first - clock_->NowSteady());
    }
  }
  return std::nullopt;
}

std::optional<std::string> WorkQueue::TryGet() {
  MutexLock lock(&mu_);
  return shut_down_ ? std::nullopt : TakeLocked();
}

void WorkQueue::Done(const std::string& key) {
  MutexLock lock(&mu_);
  TFLEET_CHECK(working_.erase(key) == 1);
  const auto it = again_.find(key);
  if (it == again_.end()) return;
  const Urgency urgency = it->second;
  again_.erase(it);
  --adds_;
  AddLocked(key, urgency);
}

void WorkQueue::ShutDown() {
  MutexLock lock(&mu_);
  shut_down_ = true;
  changed_.NotifyAll();
}

void WorkQueue::Wake() {
  MutexLock lock(&mu_);
  changed_.NotifyAll();
}

size_t WorkQueue::depth() const {
  MutexLock lock(&mu_);
  return waiting_.size();
}

WorkQueue::Unfinished WorkQueue::unfinished() const {
  MutexLock lock(&mu_);
  const Time now = clock_->NowSteady();
  Unfinished all;
  for (const auto& [key, since] : working_) {
    all.sum += now - since;
    all.longest = std::max<std::chrono::nanoseconds>(all.longest, now - since);
  }
  return all;
}

int64_t WorkQueue::adds() const {
  MutexLock lock(&mu_);
  return adds_;
}

int64_t WorkQueue::retries() const {
  MutexLock lock(&mu_);
  return retries_;
}

}  // namespace tensorfleet::k8s
