// TF_Graph: a scope of the C++ client behind a lock. A TF_Operation is a node of its graph.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/capi/boundary.h"
#include "runtime/client/scope.h"

struct TF_Graph {
  tensorfleet::Mutex mu;
  const tensorfleet::Scope scope;  // its graph is guarded by mu

  // What was changed in nodes that are there, for sessions that were sent them before.
  struct Change {
    int node_id;
    std::string text;  // "Operation 'x' was changed by ..."
  };
  std::vector<Change> changes ABSL_GUARDED_BY(mu);

  // Of a loop's condition: the graph that the loop will be in, and what its variables begin with.
  TF_Graph* loop_of = nullptr;
  std::vector<TF_Output> loop_inputs;

  // Its user's reference, and one of each session.
  std::atomic<int> references{1};
  void Ref() { references.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

namespace tensorfleet::capi {

inline Node* NodeOf(TF_Operation* operation) { return reinterpret_cast<Node*>(operation); }
inline const Node* NodeOf(const TF_Operation* operation) {
  return reinterpret_cast<const Node*>(operation);
}
inline TF_Operation* OperationOf(const Node* node) {
  return reinterpret_cast<TF_Operation*>(const_cast<Node*>(node));
}
inline TF_Output OutputTo(const Output& output) {
  return {OperationOf(output.node()), output.index()};
}

// A node of this graph. Errors: InvalidArgument for NULL, or for one of another graph.
StatusOr<Node*> NodeIn(const TF_Graph& graph, const TF_Operation* operation)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph.mu);
// An output of a node of this graph. Errors: InvalidArgument.
StatusOr<Output> OutputIn(const TF_Graph& graph, TF_Output output)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph.mu);
StatusOr<std::vector<Output>> OutputsIn(const TF_Graph& graph, const TF_Output* outputs, int count,
                                        const char* name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph.mu);
StatusOr<std::vector<Operation>> OperationsIn(const TF_Graph& graph,
                                              const TF_Operation* const* operations, int count)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph.mu);

// The name under which a message of the graph has the node.
std::string NameIn(const TF_Graph& graph, const Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph.mu);

// A shape by the interface's numbers: rank -1 and dimensions -1 are open. Errors: InvalidArgument.
StatusOr<PartialShape> PartialShapeFrom(const int64_t* dims, int num_dims);

}  // namespace tensorfleet::capi
