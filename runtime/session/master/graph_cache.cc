#include "runtime/session/master/graph_cache.h"

#include <utility>

#include "runtime/session/metrics.h"

namespace tensorfleet {
namespace {

// A client that sends the same names in ever new orders gets the graph, but is not remembered.
constexpr size_t kMaxRequestsPerGraph = 64;

}  // namespace

GraphCache::~GraphCache() { Clear(); }

std::shared_ptr<const GraphCache::Variant> GraphCache::Find(const std::string& request) {
  std::shared_ptr<PreparedGraph> removed;
  MutexLock lock(&mu_);
  const auto known = variants_.find(request);
  if (known == variants_.end()) return nullptr;
  const Entries::iterator entry = known->second.entry;
  if (!entry->graph->Join()) {
    removed = Remove(entry);
    return nullptr;
  }
  if (entry != entries_.begin()) entries_.splice(entries_.begin(), entries_, entry);
  return known->second.variant;
}

std::shared_ptr<PreparedGraph> GraphCache::FindOrMake(const std::string& key,
                                                      const Signature& signature, bool* is_new) {
  std::vector<std::shared_ptr<PreparedGraph>> removed;
  MutexLock lock(&mu_);
  *is_new = false;
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) {
    const Entries::iterator entry = known->second;
    if (entry->graph->Join()) {
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->graph;
    }
    removed.push_back(Remove(entry));
  }
  *is_new = true;
  auto graph = std::make_shared<PreparedGraph>(signature);
  (void)graph->Join();
  entries_.push_front({key, graph, 0, {}});
  by_key_[key] = entries_.begin();
  ++ServerMetrics().prepared_graphs;
  for (auto& evicted : Evict()) removed.push_back(std::move(evicted));
  return graph;
}

void GraphCache::AddVariant(const std::string& key, std::string request,
                            std::shared_ptr<const Variant> variant) {
  MutexLock lock(&mu_);
  const auto known = by_key_.find(key);
  if (known == by_key_.end() || known->second->graph != variant->graph) return;
  Entry& entry = *known->second;
  if (entry.requests.size() >= kMaxRequestsPerGraph) return;
  if (!variants_.try_emplace(request, KnownRequest{std::move(variant), known->second}).second)
    return;
  entry.requests.push_back(std::move(request));
}

void GraphCache::Weigh(const std::string& key, const PreparedGraph& graph) {
  std::vector<std::shared_ptr<PreparedGraph>> removed;
  MutexLock lock(&mu_);
  const auto known = by_key_.find(key);
  if (known == by_key_.end() || known->second->graph.get() != &graph) return;
  const int64_t more = graph.bytes() - known->second->bytes;
  known->second->bytes += more;
  bytes_ += more;
  ServerMetrics().prepared_graph_bytes += more;
  removed = Evict();
}

void GraphCache::Clear() {
  std::vector<std::shared_ptr<PreparedGraph>> removed;
  MutexLock lock(&mu_);
  while (!entries_.empty()) removed.push_back(Remove(entries_.begin()));
}

std::shared_ptr<PreparedGraph> GraphCache::Remove(Entries::iterator entry) {
  for (const std::string& request : entry->requests) variants_.erase(request);
  by_key_.erase(entry->key);
  bytes_ -= entry->bytes;
  --ServerMetrics().prepared_graphs;
  ServerMetrics().prepared_graph_bytes -= entry->bytes;
  std::shared_ptr<PreparedGraph> graph = std::move(entry->graph);
  entries_.erase(entry);
  return graph;
}

std::vector<std::shared_ptr<PreparedGraph>> GraphCache::Evict() {
  std::vector<std::shared_ptr<PreparedGraph>> evicted;
  while (entries_.size() > 1 &&
         (static_cast<int64_t>(entries_.size()) > limits_.graphs || bytes_ > limits_.bytes)) {
    evicted.push_back(Remove(std::prev(entries_.end())));
    ++ServerMetrics().prepared_graphs_evicted;
  }
  return evicted;
}

}  // namespace tensorfleet
