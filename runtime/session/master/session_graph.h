// The graph of a session: grows by extension, is placed as a whole; a piece is cut out of it for
// each signature. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/place/placement/placer.h"
#include "runtime/place/prune.h"
#include "runtime/session/limits.h"
#include "runtime/session/master/prepared_graph.h"

namespace tensorfleet {

class SessionGraph {
 public:
  struct Options {
    const OpRegistry* ops = nullptr;
    PlacementOptions placement;  // of the whole graph
    uint64_t client_incarnation = 0;
    Device* cpu = nullptr;  // of this process, to fold constants on
    const Limits* limits = nullptr;
    tensorflow::GraphOptions graph_options;
    std::string dump_dir;  // empty: graphs are not dumped
    std::string name;      // of the session, in dumps
  };
  explicit SessionGraph(Options options);

  // Adds nodes and functions and places the graph; on error nothing is added. One call at a time;
  // pieces are cut from the graph as it was meanwhile.
  // Errors: InvalidArgument `... which was created by a previous call to Create or Extend in this
  // session.`, what Limits::CheckGraph, ImportGraphDef and Place say.
  Status Extend(const tensorflow::GraphDef& def);

  // Cuts out, rewrites and partitions what `signature` needs. Parts name no task objects yet: the
  // first of the pair is the task's name. `connections` (from tensor, to tensor) replace edges.
  // Gives up with the reason for `cancellation` when that comes first.
  struct Cut {
    PreparedGraph::Contents contents;
    std::vector<std::string> tasks;  // by part
  };
  StatusOr<Cut> CutFor(const Signature& signature, FeedStyle style,
                       const std::vector<std::pair<std::string, std::string>>& connections,
                       const CancellationManager& cancellation);

 private:
  std::shared_ptr<const Graph> Present() ABSL_LOCKS_EXCLUDED(mu_);
  void Dump(const Graph& graph, absl::string_view what);
  uint64_t IncarnationOf(const std::string& device) const;

  const Options options_;
  std::atomic<int64_t> name_counter_{0};
  std::atomic<int> dumps_{0};
  Mutex extend_mu_;                                // held while the graph grows
  int64_t nodes_ ABSL_GUARDED_BY(extend_mu_) = 0;  // with those of functions
  Mutex mu_;  // held only to look at the pointer, or to change it
  std::shared_ptr<const Graph> graph_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
