// The prepared graphs of one session, by what they feed, fetch and run. Bounded: the graphs that
// were used least recently go when there are too many, or when the workers keep too much for them;
// they are prepared anew when they are asked for again. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/session/master/prepared_graph.h"

namespace tensorfleet {

class GraphCache {
 public:
  // The graph that was used last stays, whatever its size.
  struct Limits {
    int64_t graphs = 1000;
    int64_t bytes = int64_t{256} << 20;
  };
  // How the names of one request map to a prepared graph, whose lists are sorted.
  struct Variant {
    std::shared_ptr<PreparedGraph> graph;
    std::vector<int> feed_slots;  // by position in the request
    std::vector<int> fetch_slots;
  };

  explicit GraphCache(const Limits& limits) : limits_(limits) {}
  ~GraphCache();
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;

  // What AddVariant was given for `request`, or null. The graph is joined: wait for it, or leave
  // it.
  std::shared_ptr<const Variant> Find(const std::string& request);
  // The graph under `key`, joined. `*is_new`: the caller is to prepare it, and then calls Weigh.
  std::shared_ptr<PreparedGraph> FindOrMake(const std::string& key, const Signature& signature,
                                            bool* is_new);
  // Remembers that `request`, names in the order in which a client sends them, means the graph
  // under `key`.
  void AddVariant(const std::string& key, std::string request,
                  std::shared_ptr<const Variant> variant);
  // Takes account of the size of a graph that has become ready.
  void Weigh(const std::string& key, const PreparedGraph& graph);
  void Clear();

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<PreparedGraph> graph;
    int64_t bytes = 0;
    std::vector<std::string> requests;  // its keys in variants_
  };
  using Entries = std::list<Entry>;
  struct KnownRequest {
    std::shared_ptr<const Variant> variant;
    Entries::iterator entry;
  };

  // Takes the entry out; what it held is to be destroyed outside the lock.
  std::shared_ptr<PreparedGraph> Remove(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<std::shared_ptr<PreparedGraph>> Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Limits limits_;
  Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);  // the one that was used last comes first
  absl::flat_hash_map<std::string, Entries::iterator> by_key_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, KnownRequest> variants_ ABSL_GUARDED_BY(mu_);
  int64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet
