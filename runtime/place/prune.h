// Cuts a session's graph down to what one step needs. Feeds replace the tensors they name; fetches and targets
// say what must be computed; everything else goes, so that nothing runs that nobody asked for.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// What a client names when it runs a step. Tensors as "node:index" ("node" stands for "node:0").
struct StepSignature {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;  // nodes that must run although nobody fetches from them
};

// How feeds get into the graph and fetches out of it.
enum class FeedStyle {
  // By the call frame: `_Arg` nodes (index = position in `feeds`) and `_Retval` nodes (index = position in
  // `fetches`). The usual way: nothing is looked up by name in a step.
  kCallFrame,
  // By the step's rendezvous: `_Recv` and `_Send` nodes with client_terminated, on the key
  // "<client device>;<incarnation>;<client device>;<node>:<index>;0:0". For partial runs, whose feeds arrive in
  // instalments. Repeated fetches of one tensor share one `_Send`.
  kRendezvous,
};

struct PruneOptions {
  std::string client_device;      // full name; where feed and fetch nodes are placed
  uint64_t client_incarnation = 0;  // of that device; used by kRendezvous
  FeedStyle feed_style = FeedStyle::kCallFrame;
};

// Base types of the fed and of the fetched tensors, by position.
struct StepTypes {
  std::vector<DType> feeds;
  std::vector<DType> fetches;
};

// Rewrites `graph` (the caller's own copy) in place. All names are checked before anything is changed.
// Feed and fetch nodes have their requested and assigned device set; other nodes keep theirs. A fed
// placeholder's control outputs move to the feed node, so that a fed placeholder never runs.
// Errors, in the texts that clients know (tf-protocol.md, B.3): InvalidArgument for nothing to do, an endpoint
// fed twice or fed and fetched, an output index out of range; NotFound for an unknown feed, fetch or target.
StatusOr<StepTypes> PruneForStep(const StepSignature& step, const PruneOptions& options, Graph* graph);

// Removes every node from which none of `roots` can be reached.
void RemoveUnreachable(const std::vector<Node*>& roots, Graph* graph);

}  // namespace tensorfleet
