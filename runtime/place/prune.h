// Cuts a session's graph down to what a run needs. Feeds replace the tensors they name; fetches
// and targets say what must be computed; everything else goes, so that nothing runs that nobody
// asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// What a client names when it runs a step: its feeds, fetches and targets. Tensors as "node:index"
// ("node" stands for "node:0").
struct Signature {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;  // nodes that must run although nobody fetches from them
};

// How feeds get into the graph and fetches out of it.
enum class FeedStyle {
  // By the call frame: `_Arg` nodes (index = position in `feeds`) and `_Retval` nodes (index =
  // position in
  // `fetches`). The usual way: nothing is looked up by name in a step.
  kCallFrame,
  // By the step's rendezvous: `_Recv` and `_Send` nodes with client_terminated, on the key
  // "<client device>;<incarnation>;<client device>;<node>:<index>;0:0". For partial runs, whose
  // feeds arrive in
  // instalments. Repeated fetches of one tensor share one `_Send`.
  kRendezvous,
};

struct PruneOptions {
  std::string client_device;        // full name; where feed and fetch nodes are placed
  uint64_t client_incarnation = 0;  // of that device; used by kRendezvous
  FeedStyle feed_style = FeedStyle::kCallFrame;
};

// What a run of the signature runs.
struct PrunedGraph {
  std::unique_ptr<Graph> graph;
  // Base types of the fed and of the fetched tensors, by position.
  std::vector<DType> feed_types;
  std::vector<DType> fetch_types;
};

// Copies what `signature` needs out of the session's graph, with the devices that nodes have;
// `graph` is left alone and may be pruned by several threads at once. Costs time in what is kept
// rather than in the size of `graph`. Feed and fetch nodes have their requested and assigned device
// set. A fed placeholder's control outputs move to the feed node, so that a fed placeholder never
// runs. Errors, in the texts that clients know (tf-protocol.md, B.3): InvalidArgument for nothing
// to do, an endpoint fed twice or fed and fetched, an output index out of range; NotFound for an
// unknown feed, fetch or target.
StatusOr<PrunedGraph> Prune(const Signature& signature, const PruneOptions& options,
                            const Graph& graph);

}  // namespace tensorfleet
