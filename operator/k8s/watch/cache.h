// An informer's store: the trimmed objects of one collection, found by name and by group (the job
// they belong to). Fed by a Reflector and by the answers to our own writes, so that a reconcile
// sees what the one before it did without waiting for the watch. Thread-safe.
//
// Traits tell the cache about T:
//   static StatusOr<T> Parse(absl::string_view json);
//   static const std::string& Namespace(const T&);
//   static const std::string& Name(const T&), Uid(const T&), Version(const T&);
//   static absl::string_view Group(const T&);                // within the namespace; may be ""
//   static bool SameForRules(const T& a, const T& b);        // differ in nothing a rule looks at
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "operator/k8s/watch/reflector.h"
#include "operator/k8s/watch/versions.h"
#include "runtime/base/log.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::k8s {

template <typename T, typename Traits>
class Cache final : public ObjectSink {
 public:
  using Ptr = std::shared_ptr<const T>;
  // Told of every change the rules can see: old is null for a new object, current for one that is
  // gone. `replayed`: the object was only listed, as it is for all of them at start. Called without
  // the lock.
  struct Change {
    Ptr old;
    Ptr current;
    bool replayed = false;
  };
  using OnChange = std::function<void(const Change&)>;

  explicit Cache(OnChange on_change) : on_change_(std::move(on_change)) {}

  Ptr Find(absl::string_view ns, absl::string_view name) const {
    MutexLock lock(&mu_);
    const auto it = objects_.find(Key{ns, name});
    return it == objects_.end() ? nullptr : *it;
  }

  std::vector<Ptr> Group(absl::string_view ns, absl::string_view group) const {
    MutexLock lock(&mu_);
    const auto it = groups_.find(GroupKey(ns, group));
    return it == groups_.end() ? std::vector<Ptr>() : it->second;
  }

  std::vector<Ptr> All() const {
    MutexLock lock(&mu_);
    return std::vector<Ptr>(objects_.begin(), objects_.end());
  }

  size_t size() const {
    MutexLock lock(&mu_);
    return objects_.size();
  }

  // Takes over the answer to a write of ours, unless the watch has been faster. No change is
  // reported. Returns what the cache holds afterwards, null when the object is known to be gone
  // again.
  StatusOr<Ptr> Assume(absl::string_view json) {
    TFLEET_ASSIGN_OR_RETURN(T parsed, Traits::Parse(json));
    auto object = std::make_shared<const T>(std::move(parsed));
    MutexLock lock(&mu_);
    if (tombstones_.contains(Traits::Uid(*object))) return Ptr();
    const auto it = objects_.find(KeyOf(*object));
    if (it != objects_.end() && !before_.contains(*it) &&
        !IsNewer(Traits::Version(*object), Traits::Version(**it))) {
      return *it;
    }
    Put(object);
    return object;
  }

  // A delete of ours has been carried out at once.
  void AssumeDeleted(absl::string_view ns, absl::string_view name, absl::string_view uid) {
    MutexLock lock(&mu_);
    const auto it = objects_.find(Key{ns, name});
    if (it == objects_.end() || Traits::Uid(**it) != uid) return;
    Remove(*it);
  }

  // ObjectSink.
  void BeginList(bool afresh) override {
    MutexLock lock(&mu_);
    listed_.clear();
    before_.clear();
    if (!afresh) return;
    // Versions from here on cannot be compared with those that are held.
    before_.insert(objects_.begin(), objects_.end());
    tombstones_.clear();
    burials_.clear();
  }
  void AbandonList() override {
    MutexLock lock(&mu_);
    listed_ = {};
    before_ = {};
  }
  Status Listed(absl::string_view object) override { return Upsert(object, /*listed=*/true); }
  Status Changed(absl::string_view object) override { return Upsert(object, /*listed=*/false); }

  void EndList(absl::string_view version) override {
    std::vector<Change> gone;
    {
      MutexLock lock(&mu_);
      for (const Ptr& object : std::vector<Ptr>(objects_.begin(), objects_.end())) {
        if (listed_.contains(Traits::Uid(*object))) continue;
        // What we made ourselves after the list was taken is not in it, yet there.
        if (!before_.contains(object) && IsNewer(Traits::Version(*object), version)) continue;
        Remove(object);
        gone.push_back({object, nullptr, false});
      }
      listed_ = {};
      before_ = {};
    }
    for (const Change& change : gone) on_change_(change);
  }

  Status Deleted(absl::string_view text) override {
    TFLEET_ASSIGN_OR_RETURN(const T object, Traits::Parse(text));
    Change change;
    {
      MutexLock lock(&mu_);
      Bury(Traits::Uid(object));
      const auto it = objects_.find(KeyOf(object));
      // A younger object of the same name stays.
      if (it != objects_.end() && Traits::Uid(**it) == Traits::Uid(object)) {
        change.old = *it;
        Remove(change.old);
      } else {
        // Gone from here already (an assumed delete): whoever waits for it still wants to know.
        change.old = std::make_shared<const T>(object);
      }
    }
    on_change_(change);
    return OkStatus();
  }

 private:
  struct Key {
    absl::string_view ns, name;
  };
  static Key KeyOf(const T& object) { return {Traits::Namespace(object), Traits::Name(object)}; }
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Key& key) const { return absl::HashOf(key.ns, key.name); }
    size_t operator()(const Ptr& object) const { return (*this)(KeyOf(*object)); }
  };
  struct Equal {
    using is_transparent = void;
    static Key Of(const Key& key) { return key; }
    static Key Of(const Ptr& object) { return KeyOf(*object); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Of(a).ns == Of(b).ns && Of(a).name == Of(b).name;
    }
  };
  static std::string GroupKey(absl::string_view ns, absl::string_view group) {
    return absl::StrCat(ns, "/", group);
  }

  Status Upsert(absl::string_view text, bool listed) {
    TFLEET_ASSIGN_OR_RETURN(T parsed, Traits::Parse(text));
    Change change;
    change.current = std::make_shared<const T>(std::move(parsed));
    change.replayed = listed;
    {
      MutexLock lock(&mu_);
      if (listed) listed_.insert(Traits::Uid(*change.current));
      const auto it = objects_.find(KeyOf(*change.current));
      if (it != objects_.end()) {
        change.old = *it;
        // Our own write was quicker than the news of it, or this is that news.
        if (Traits::Uid(**it) == Traits::Uid(*change.current) && !before_.contains(*it) &&
            !IsNewer(Traits::Version(*change.current), Traits::Version(**it))) {
          return OkStatus();
        }
      }
      Put(change.current);
    }
    if (change.old != nullptr && Traits::Uid(*change.old) == Traits::Uid(*change.current) &&
        Traits::SameForRules(*change.old, *change.current)) {
      return OkStatus();
    }
    on_change_(change);
    return OkStatus();
  }

  void Put(const Ptr& object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto it = objects_.find(KeyOf(*object));
    if (it != objects_.end()) Remove(*it);
    objects_.insert(object);
    groups_[GroupKey(Traits::Namespace(*object), Traits::Group(*object))].push_back(object);
  }

  // By value: a reference to the set's own element would not outlive its removal.
  void Remove(Ptr object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    objects_.erase(object);
    const auto group = groups_.find(GroupKey(Traits::Namespace(*object), Traits::Group(*object)));
    if (group == groups_.end()) return;
    std::vector<Ptr>& members = group->second;
    const auto it = std::find(members.begin(), members.end(), object);
    if (it != members.end()) members.erase(it);
    if (members.empty()) groups_.erase(group);
  }

  // Remembers the last few objects that are gone: the answer to their creation may come later than
  // that.
  void Bury(const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    constexpr size_t kMaxTombstones = 1024;
    if (!tombstones_.insert(uid).second) return;
    burials_.push_back(uid);
    if (burials_.size() <= kMaxTombstones) return;
    tombstones_.erase(burials_.front());
    burials_.pop_front();
  }

  const OnChange on_change_;
  mutable Mutex mu_;
  absl::flat_hash_set<Ptr, Hash, Equal> objects_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::vector<Ptr>> groups_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<std::string> listed_ ABSL_GUARDED_BY(mu_);
  // What was held when a list afresh began: gives way to whatever the list brings.
  absl::flat_hash_set<Ptr> before_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<std::string> tombstones_ ABSL_GUARDED_BY(mu_);
  std::deque<std::string> burials_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::k8s
