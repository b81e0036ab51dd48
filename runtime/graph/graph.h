// The dataflow graph: nodes joined by data and control edges. Built from a GraphDef
// (graph_import.h), then pruned, placed, rewritten and partitioned (runtime/place). Not thread-safe
// while it is changed. Nodes and edges are owned by their graph; pointers stay valid until the node
// or edge is removed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/graph/node_kind.h"
#include "runtime/graph/op_schema.h"
#include "runtime/tensor/dtype.h"

namespace tensorfleet {

class FunctionLibrary;
class Graph;
class Node;

inline constexpr int kControlSlot = -1;

struct Edge {
  int id = 0;
  Node* src = nullptr;
  Node* dst = nullptr;
  int src_output = 0;    // kControlSlot for a control edge
  int dst_input = 0;     // kControlSlot for a control edge
  int place_in_src = 0;  // index in src's out_edges(), and in dst's in_edges()
  int place_in_dst = 0;
  bool is_control() const { return src_output == kControlSlot; }
};

// "a" (output 0), "a:1", or a control input "^a".
struct TensorName {
  std::string node;
  int index = 0;                 // kControlSlot for "^a"
  std::string ToString() const;  // "a:0", "^a"
  friend bool operator==(const TensorName& a, const TensorName& b) {
    return a.node == b.node && a.index == b.index;
  }
};
// Errors: InvalidArgument.
StatusOr<TensorName> ParseTensorName(absl::string_view text);

class Node {
 public:
  int id() const { return id_; }  // dense from 0 in its graph; removed ids are not used again
  const std::string& name() const { return def_.name(); }
  const std::string& op() const { return def_.op(); }
  const OpSchema& schema() const { return *schema_; }
  // Attributes are complete. The inputs listed in here are not kept up to date: edges are the
  // truth.
  const tensorflow::NodeDef& def() const { return def_; }
  // For changing attributes; never name, op, or what decides the types.
  tensorflow::NodeDef& mutable_def() { return def_; }

  // What the client asked for, possibly partial or empty; what the placer chose, a full name.
  const std::string& requested_device() const { return def_.device(); }
  void set_requested_device(absl::string_view device) { def_.set_device(std::string(device)); }
  const std::string& assigned_device() const { return assigned_device_; }
  void set_assigned_device(absl::string_view device) { assigned_device_ = std::string(device); }

  int num_inputs() const { return static_cast<int>(input_types_.size()); }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  DType input_type(int i) const { return input_types_[i]; }
  DType output_type(int i) const { return output_types_[i]; }
  const std::vector<DType>& input_types() const { return input_types_; }
  const std::vector<DType>& output_types() const { return output_types_; }

  // Data and control edges, in no particular order.
  const std::vector<Edge*>& in_edges() const { return in_edges_; }
  const std::vector<Edge*>& out_edges() const { return out_edges_; }
  // The edge into data input `i`, null while it is not connected.
  const Edge* in_edge(int i) const { return data_in_[i]; }

  bool Is(NodeKind kind) const { return (kinds_ & static_cast<NodeKinds>(kind)) != 0; }
  bool IsSwitch() const { return Is(NodeKind::kSwitch); }
  bool IsMerge() const { return Is(NodeKind::kMerge); }
  bool IsEnter() const { return Is(NodeKind::kEnter); }
  bool IsExit() const { return Is(NodeKind::kExit); }
  bool IsNextIteration() const { return Is(NodeKind::kNextIteration); }
  bool IsLoopCond() const { return Is(NodeKind::kLoopCond); }
  bool IsControlTrigger() const { return Is(NodeKind::kControlTrigger); }
  bool IsControlFlow() const;  // any of the six above, ControlTrigger excepted
  bool IsConstant() const { return Is(NodeKind::kConstant); }
  bool IsVariable() const { return Is(NodeKind::kVariable); }
  bool IsSend() const { return Is(NodeKind::kSend); }
  bool IsRecv() const { return Is(NodeKind::kRecv); }
  bool IsArg() const { return Is(NodeKind::kArg); }
  bool IsRetval() const { return Is(NodeKind::kRetval); }

 private:
  friend class Graph;
  Node() = default;

  int id_ = 0;
  NodeKinds kinds_ = 0;  // of the op
  const OpSchema* schema_ = nullptr;
  std::shared_ptr<const OpSchema> owned_schema_;  // of a function called by name
  tensorflow::NodeDef def_;
  std::string assigned_device_;
  std::vector<DType> input_types_, output_types_;
  std::vector<Edge*> in_edges_, out_edges_;
  std::vector<Edge*> data_in_;
};

class Graph {
 public:
  // `library` may be null for a graph without functions. Both must outlive the graph.
  Graph(const OpRegistry* ops, std::shared_ptr<const FunctionLibrary> library);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  std::unique_ptr<Graph> Clone() const;

  const OpRegistry& ops() const { return *ops_; }
  const std::shared_ptr<const FunctionLibrary>& library() const { return library_; }
  const tensorflow::VersionDef& versions() const { return versions_; }
  void set_versions(const tensorflow::VersionDef& versions) { versions_ = versions; }

  // Adds a node without edges (inputs listed in `def` are not connected). Fills absent attributes.
  // Errors: InvalidArgument (name taken or malformed, attributes), NotFound (op).
  StatusOr<Node*> AddNode(tensorflow::NodeDef def);
  // Removes the node and its edges.
  void RemoveNode(Node* node);

  // Data edge; the input must be free and the types must fit (a ref output feeds a plain input).
  // Errors: InvalidArgument, naming both nodes.
  StatusOr<const Edge*> AddEdge(Node* src, int src_output, Node* dst, int dst_input);
  // Adds nothing, and returns the present edge, when there is one already.
  const Edge* AddControlEdge(Node* src, Node* dst);
  void RemoveEdge(const Edge* edge);
  // Lets data input `dst_input` of `dst` come from elsewhere.
  Status ReplaceInput(Node* dst, int dst_input, Node* src, int src_output);

  Node* FindNode(absl::string_view name) const;
  // By id; null for an id that was removed.
  Node* node(int id) const { return nodes_[id].get(); }
  int num_node_ids() const { return static_cast<int>(nodes_.size()); }
  int num_nodes() const { return static_cast<int>(by_name_.size()); }
  // All nodes by ascending id.
  std::vector<Node*> nodes() const;
  int num_edge_ids() const { return static_cast<int>(edges_.size()); }

  // A name that is not taken: `prefix`, or `prefix` with "_1", "_2", ... after it.
  std::string UniqueName(absl::string_view prefix);

 private:
  const OpRegistry* const ops_;
  const std::shared_ptr<const FunctionLibrary> library_;
  tensorflow::VersionDef versions_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Edge>> edges_;
  absl::flat_hash_map<std::string, Node*> by_name_;
  absl::flat_hash_map<std::string, int> suffixes_;  // the last that UniqueName gave, by prefix
};

// Nodes so that sources come before their users; edges out of NextIteration nodes are not followed.
// Errors: InvalidArgument naming a node of a cycle that is no loop.
StatusOr<std::vector<Node*>> TopologicalOrder(const Graph& graph);

}  // namespace tensorfleet
