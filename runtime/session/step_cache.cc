#include "runtime/session/step_cache.h"

#include <utility>

#include "runtime/session/metrics.h"

namespace tensorfleet {
namespace {

// A client that sends the same names in ever new orders gets the step, but is not remembered.
constexpr size_t kMaxRequestsPerStep = 64;

}  // namespace

StepCache::~StepCache() { Clear(); }

std::shared_ptr<const StepCache::Variant> StepCache::Find(const std::string& request) {
  std::shared_ptr<CompiledStep> removed;
  MutexLock lock(&mu_);
  const auto known = variants_.find(request);
  if (known == variants_.end()) return nullptr;
  const Entries::iterator entry = known->second.entry;
  if (!entry->step->Join()) {
    removed = Remove(entry);
    return nullptr;
  }
  if (entry != entries_.begin()) entries_.splice(entries_.begin(), entries_, entry);
  return known->second.variant;
}

std::shared_ptr<CompiledStep> StepCache::FindOrMake(const std::string& key,
                                                    const StepSignature& signature, bool* is_new) {
  std::vector<std::shared_ptr<CompiledStep>> removed;
  MutexLock lock(&mu_);
  *is_new = false;
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) {
    const Entries::iterator entry = known->second;
    if (entry->step->Join()) {
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->step;
    }
    removed.push_back(Remove(entry));
  }
  *is_new = true;
  auto step = std::make_shared<CompiledStep>(signature);
  (void)step->Join();
  entries_.push_front({key, step, 0, {}});
  by_key_[key] = entries_.begin();
  ++ServerMetrics().compiled_steps;
  for (auto& evicted : Evict()) removed.push_back(std::move(evicted));
  return step;
}

void StepCache::AddVariant(const std::string& key, std::string request,
                           std::shared_ptr<const Variant> variant) {
  MutexLock lock(&mu_);
  const auto known = by_key_.find(key);
  if (known == by_key_.end() || known->second->step != variant->step) return;
  Entry& entry = *known->second;
  if (entry.requests.size() >= kMaxRequestsPerStep) return;
  if (!variants_.try_emplace(request, KnownRequest{std::move(variant), known->second}).second)
    return;
  entry.requests.push_back(std::move(request));
}

void StepCache::Weigh(const std::string& key, const CompiledStep& step) {
  std::vector<std::shared_ptr<CompiledStep>> removed;
  MutexLock lock(&mu_);
  const auto known = by_key_.find(key);
  if (known == by_key_.end() || known->second->step.get() != &step) return;
  const int64_t more = step.bytes() - known->second->bytes;
  known->second->bytes += more;
  bytes_ += more;
  ServerMetrics().compiled_step_bytes += more;
  removed = Evict();
}

void StepCache::Clear() {
  std::vector<std::shared_ptr<CompiledStep>> removed;
  MutexLock lock(&mu_);
  while (!entries_.empty()) removed.push_back(Remove(entries_.begin()));
}

std::shared_ptr<CompiledStep> StepCache::Remove(Entries::iterator entry) {
  for (const std::string& request : entry->requests) variants_.erase(request);
  by_key_.erase(entry->key);
  bytes_ -= entry->bytes;
  --ServerMetrics().compiled_steps;
  ServerMetrics().compiled_step_bytes -= entry->bytes;
  std::shared_ptr<CompiledStep> step = std::move(entry->step);
  entries_.erase(entry);
  return step;
}

std::vector<std::shared_ptr<CompiledStep>> StepCache::Evict() {
  std::vector<std::shared_ptr<CompiledStep>> evicted;
  while (entries_.size() > 1 &&
         (static_cast<int64_t>(entries_.size()) > limits_.steps || bytes_ > limits_.bytes)) {
    evicted.push_back(Remove(std::prev(entries_.end())));
    ++ServerMetrics().compiled_steps_evicted;
  }
  return evicted;
}

}  // namespace tensorfleet
