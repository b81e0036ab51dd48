#include "runtime/pjrt/executable_cache.h"

#include <chrono>

#include "runtime/base/log.h"
#include "runtime/pjrt/device_metrics.h"

namespace tensorfleet::pjrt {

void ExecutableCache::Get(const std::string& module, const std::string& what, ThreadPool* pool,
                          Done done) {
  std::shared_ptr<const Executable> known;
  {
    MutexLock lock(&mu_);
    std::unique_ptr<Entry>& entry = entries_[module];
    const bool is_new = entry == nullptr;
    if (is_new) entry = std::make_unique<Entry>();
    entry->last_use = ++uses_;
    known = entry->executable;
    if (known == nullptr) entry->waiting.push_back(std::move(done));
    if (known == nullptr && !is_new) return;
  }
  if (known != nullptr) {
    ++Counts().cache_hits;
    return done(std::move(known));
  }
  pool->Schedule([this, module, what] { Compile(module, what); });
}

std::shared_ptr<const Executable> ExecutableCache::Loaded(const std::string& module,
                                                          const std::string& what) {
  if (disk_ == nullptr) return nullptr;
  const std::string key = absl::StrCat(build_id_, module);
  const std::optional<std::string> kept = disk_->Find(key);
  if (!kept.has_value()) return nullptr;
  StatusOr<std::unique_ptr<Executable>> loaded = client_.Load(*kept);
  if (!loaded.ok()) {
    LogWarning("A program that was kept cannot be loaded; it is compiled again",
               {{"cluster", what}, {"why", loaded.status().message()}});
    disk_->Drop(key);
    return nullptr;
  }
  ++Counts().loaded;
  LogInfo("Loaded a compiled cluster", {{"cluster", what}, {"for", client_.platform()}});
  return *std::move(loaded);
}

void ExecutableCache::Compile(const std::string& module, const std::string& what) {
  std::shared_ptr<const Executable> loaded = Loaded(module, what);
  const bool was_there = loaded != nullptr;
  StatusOr<std::shared_ptr<const Executable>> result = std::move(loaded);
  if (!was_there) {
    const auto start = std::chrono::steady_clock::now();
    StatusOr<std::unique_ptr<Executable>> made = client_.Compile(module);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (made.ok()) {
      result = std::shared_ptr<const Executable>(*std::move(made));
      ++Counts().compiled;
      Counts().compile_nanos += static_cast<int64_t>(1e6 * took.count());
      LogInfo("Compiled a cluster", {{"cluster", what},
                                     {"for", client_.platform()},
                                     {"milliseconds", static_cast<int64_t>(took.count())}});
    } else {
      result = made.status();
      LogWarning("A cluster could not be compiled",
                 {{"cluster", what}, {"error", result.status().message()}});
    }
  }
  std::vector<Done> waiting;
  {
    MutexLock lock(&mu_);
    const auto it = entries_.find(module);
    waiting = std::move(it->second->waiting);
    it->second->waiting.clear();
    if (result.ok()) {
      it->second->executable = *result;
    } else {
      entries_.erase(it);
    }
    DropOld();
  }
  for (const Done& done : waiting) done(result);
  if (was_there || disk_ == nullptr || !result.ok()) return;
  const StatusOr<std::string> bytes = client_.Serialize(**result);
  if (bytes.ok()) {
    disk_->Keep(absl::StrCat(build_id_, module), *bytes);
  } else {
    LogWarning("A compiled program could not be kept", {{"why", bytes.status().message()}});
  }
}

void ExecutableCache::DropOld() {
  while (entries_.size() > max_programs_) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->second->executable == nullptr) continue;  // being compiled
      if (oldest == entries_.end() || it->second->last_use < oldest->second->last_use) oldest = it;
    }
    if (oldest == entries_.end()) return;
    entries_.erase(oldest);
  }
}

}  // namespace tensorfleet::pjrt
