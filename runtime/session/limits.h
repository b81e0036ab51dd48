// What a server lets its clients have, and which ops it does not run for them. Checked where it
// comes in: graphs by the master and by the worker, sessions and steps by whom they are opened at.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/graph/op_schema.h"

namespace tensorflow {
class GraphDef;
}

namespace tensorfleet {

// Ops that are refused, each with what the operator of the server said that forbids it.
class ForbiddenOps {
 public:
  ForbiddenOps() = default;
  // "ReadFile,files": names of ops, and of groups of them: `files` are those that read or write
  // files, here or at an object store; `network` those that can reach another host, which are the
  // same, as a path may be https://. Errors: InvalidArgument for a name that is neither.
  static StatusOr<ForbiddenOps> Parse(absl::string_view list, const OpRegistry& ops);

  // Errors: PermissionDenied for a graph with such an op, in itself or in a function it brings.
  Status Check(const tensorflow::GraphDef& graph) const;
  bool empty() const { return why_.empty(); }

  // The ops of group `files`.
  static absl::Span<const char* const> FileOps();

 private:
  absl::flat_hash_map<std::string, std::string> why_;  // by op
};

// Zero is no limit.
struct Limits {
  int64_t graph_nodes = 5'000'000;  // of a session's graph, with its functions
  int64_t sessions = 10'000;        // open at once
  int64_t steps = 10'000;           // running at once
  int64_t step_bytes = 0;           // of one step's tensors, on one task
  int64_t session_bytes = 0;        // of the tensors of one session's steps, on one task
  ForbiddenOps forbidden;

  // Whether `graph` may be added to one of `nodes_before` nodes. Errors: PermissionDenied,
  // ResourceExhausted.
  Status CheckGraph(const tensorflow::GraphDef& graph, int64_t nodes_before) const;
};

// Nodes of the graph and of the functions it brings.
int64_t CountNodes(const tensorflow::GraphDef& graph);

// ResourceExhausted, counted in the metrics: "`what` are limited to `limit` (--`flag`)".
Status OverLimit(absl::string_view what, int64_t limit, absl::string_view flag);

}  // namespace tensorfleet
