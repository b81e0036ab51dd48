// The queue of keys to reconcile. A key waits at most once, is never worked on by two threads, can
// be added for later, and backs off when it fails. Fair in three ways: new keys and the rest take
// turns, so do namespaces, and within a namespace every other turn goes to the key that came last.
// So one new job behind a thousand is started at once, whatever the thousand do meanwhile, and none
// of them is left behind. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/clock.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::k8s {

class WorkQueue {
 public:
  struct Options {
    std::chrono::nanoseconds first_retry = std::chrono::milliseconds(5);
    std::chrono::nanoseconds retry_limit = std::chrono::seconds(1000);
    // Told how long each key that is taken has waited since it could be. May be null; called with
    // the queue's lock held.
    std::function<void(std::chrono::nanoseconds)> on_taken = nullptr;
  };
  // The most urgent first.
  enum class Urgency {
    kNew,  // nothing has been done for it yet
    kNormal,
    kBackground,  // taken only when nothing normal waits: the replay of what exists at start
  };

  // `clock` must outlive the queue. With a ManualClock, call Wake() after moving it.
  explicit WorkQueue(const Clock* clock) : WorkQueue(clock, Options()) {}
  WorkQueue(const Clock* clock, Options options);

  // Keys are "namespace/name".
  void Add(const std::string& key, Urgency urgency = Urgency::kNormal);
  // Adds `key` once `delay` has passed; an earlier appointment of the same key stands. A delay of
  // more than a year is one of a year: deadlines may lie beyond what a clock can count to.
  void AddAfter(const std::string& key, std::chrono::nanoseconds delay);
  // Adds `key` after its back-off, which doubles with every call until Forget.
  void AddRateLimited(const std::string& key);
  void Forget(const std::string& key);

  // The next key, once there is one; nothing after ShutDown. Done must be called for it.
  std::optional<std::string> Get();
  // As Get, but returns nothing when no key is ready now.
  std::optional<std::string> TryGet();
  void Done(const std::string& key);

  // Get returns nothing from now on; keys still waiting are dropped.
  void ShutDown();
  // Looks at the clock again.
  void Wake();

  size_t depth() const;
  // Of the keys that are worked on now: the time spent so far, all together and the longest.
  struct Unfinished {
    std::chrono::nanoseconds sum{0};
    std::chrono::nanoseconds longest{0};
  };
  Unfinished unfinished() const;
  int64_t adds() const;
  int64_t retries() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  // One namespace's keys, oldest first.
  struct Lane {
    std::deque<std::string> keys;
    bool newest_next = true;
  };
  struct Waiting {
    Urgency urgency;
    Time since;
  };
  struct Lanes {
    std::map<std::string, Lane> by_namespace;
    std::deque<std::string> turns;  // namespaces with keys, whose turn is next first
  };

  Lanes& LanesOf(Urgency urgency) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddLocked(const std::string& key, Urgency urgency) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<std::string> TakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static std::optional<std::string> TakeFrom(Lanes& lanes);
  static void PutInto(Lanes& lanes, const std::string& key);
  // Moves appointments that are due to the lanes.
  void PromoteLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock* const clock_;
  const Options options_;
  mutable Mutex mu_;
  CondVar changed_;
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
  int64_t adds_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t retries_ ABSL_GUARDED_BY(mu_) = 0;
  Lanes new_ ABSL_GUARDED_BY(mu_);
  Lanes normal_ ABSL_GUARDED_BY(mu_);
  Lanes background_ ABSL_GUARDED_BY(mu_);
  bool new_next_ ABSL_GUARDED_BY(mu_) = true;
  absl::flat_hash_map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Time> working_ ABSL_GUARDED_BY(mu_);  // and since when
  absl::flat_hash_map<std::string, Urgency> again_
      ABSL_GUARDED_BY(mu_);  // added while being worked on
  absl::flat_hash_map<std::string, int> failures_ ABSL_GUARDED_BY(mu_);
  std::multimap<Time, std::string> appointments_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Time> appointed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::k8s
