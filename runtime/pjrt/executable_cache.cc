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

void ExecutableCache::Compile(const std::string& module, const std::string& what) {
  const auto start = std::chrono::steady_clock::now();
  StatusOr<std::unique_ptr<Executable>> made = client_.Compile(module);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  StatusOr<std::shared_ptr<const Executable>> result = std::shared_ptr<const Executable>();
  if (!made.ok()) result = made.status();
  if (made.ok()) {
    result = std::shared_ptr<const Executable>(*std::move(made));
    ++Counts().compiled;
    Counts().compile_nanos += static_cast<int64_t>(1e6 * took.count());
    LogInfo("Compiled a cluster", {{"cluster", what},
                                   {"for", client_.platform()},
                                   {"milliseconds", static_cast<int64_t>(took.count())}});
  } else {
    LogWarning("A cluster could not be compiled",
               {{"cluster", what}, {"error", result.status().message()}});
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
