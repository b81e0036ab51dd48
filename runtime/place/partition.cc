#include "runtime/place/partition.h"

#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/device/device_name.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"
#include "runtime/place/control_loops.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/graph_edit.h"
#include "runtime/place/passes/late_reads.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {
namespace {

// Values of these types stay in host memory whatever the device.
bool LivesOnHost(DType type) {
  return type == DType::kString || type == DType::kResource || type == DType::kVariant;
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, const PartitionOptions& options)
      : original_(graph), options_(options) {}

  StatusOr<Partitions> Run() {
    for (const Node* node : original_.nodes()) {
      TFLEET_RETURN_IF_ERROR(PieceOf(node->assigned_device(), node->name()).status());
    }
    Partitions result;
    if (piece_names_.size() <= 1) {
      if (!piece_names_.empty()) result.emplace(piece_names_[0], original_.Clone());
      return result;
    }
    TFLEET_RETURN_IF_ERROR(Extend());
    pieces_.reserve(piece_names_.size());
    for (size_t i = 0; i < piece_names_.size(); ++i) {
      pieces_.push_back(std::make_unique<Graph>(&original_.ops(), original_.library()));
      pieces_.back()->set_versions(original_.versions());
    }
    TFLEET_RETURN_IF_ERROR(CopyNodes());
    TFLEET_RETURN_IF_ERROR(CopyEdges());
    for (size_t i = 0; i < piece_names_.size(); ++i) {
      result.emplace(piece_names_[i], std::move(pieces_[i]));
    }
    return result;
  }

 private:
  // One receive serves all users on a device: by source node, output and destination device.
  using CutKey = std::tuple<const Node*, int, std::string>;

  const Graph& graph() const { return extended_ != nullptr ? *extended_ : original_; }

  // Index of the piece that a device belongs to.
  StatusOr<int> PieceOf(const std::string& device, absl::string_view node) {
    const auto known = piece_of_device_.find(device);
    if (known != piece_of_device_.end()) return known->second;
    if (device.empty()) {
      return InvalidArgument("Node '", node, "' is missing a device specification");
    }
    TFLEET_ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(device));
    if (!name.is_full()) {
      return InvalidArgument("Node '", node, "' has an incomplete device: '", device, "'");
    }
    const std::string piece =
        options_.by == PartitionOptions::By::kTask ? name.TaskString() : device;
    const auto [it, added] =
        piece_by_name_.try_emplace(piece, static_cast<int>(piece_names_.size()));
    if (added) piece_names_.push_back(piece);
    piece_of_device_.emplace(device, it->second);
    return it->second;
  }
  int Piece(const Node& node) const {
    return piece_of_device_.find(node.assigned_device())->second;
  }

  std::string NewName(absl::string_view prefix) {
    std::string name;
    do {
      const int64_t k =
          options_.name_counter != nullptr ? options_.name_counter->fetch_add(1) : next_name_++;
      name = absl::StrCat(prefix, "_S", k);
    } while (original_.FindNode(name) != nullptr);
    return name;
  }

  // Adds what has to be there before edges are cut, to a copy of the graph.
  Status Extend() {
    const auto crosses = [this](const Edge& edge) { return Piece(*edge.src) != Piece(*edge.dst); };
    bool has_loops = false, has_late_reads = false;
    for (const Node* node : original_.nodes()) {
      has_loops |= node->IsEnter();
      for (const Edge* edge : node->in_edges()) has_late_reads |= IsLateRead(*edge);
    }
    if (!has_loops && !has_late_reads) return OkStatus();
    extended_ = original_.Clone();
    const auto new_name = [this](absl::string_view prefix) { return NewName(prefix); };
    TFLEET_RETURN_IF_ERROR(AddLateReads(crosses, new_name, extended_.get()));
    if (!has_loops) return OkStatus();
    TFLEET_ASSIGN_OR_RETURN(anchors_, AddControlLoops(crosses, new_name, extended_.get()));
    return OkStatus();
  }

  Status CopyNodes() {
    copies_.assign(graph().num_node_ids(), nullptr);
    for (const Node* node : graph().nodes()) {
      TFLEET_ASSIGN_OR_RETURN(copies_[node->id()], CopyNode(*node, pieces_[Piece(*node)].get()));
    }
    return OkStatus();
  }

  Status CopyEdges() {
    for (const Node* node : graph().nodes()) {
      for (const Edge* edge : node->in_edges()) {
        Graph* piece = pieces_[Piece(*node)].get();
        Endpoint source{copies_[edge->src->id()], edge->src_output};
        if (Piece(*edge->src) != Piece(*node)) {
          TFLEET_ASSIGN_OR_RETURN(source, Receive(*edge));
        }
        Node* user = copies_[node->id()];
        if (edge->is_control()) {
          piece->AddControlEdge(source.node, user);
        } else {
          TFLEET_RETURN_IF_ERROR(
              piece->AddEdge(source.node, source.index, user, edge->dst_input).status());
        }
      }
    }
    return OkStatus();
  }

  // What brings the value, or the signal, of a cut edge to the piece of its destination.
  StatusOr<Endpoint> Receive(const Edge& edge) {
    const std::string& device = edge.dst->assigned_device();
    const auto [it, added] =
        received_.try_emplace(CutKey(edge.src, edge.src_output, device), Endpoint{});
    if (!added) return it->second;
    Graph* from = pieces_[Piece(*edge.src)].get();
    Graph* to = pieces_[Piece(*edge.dst)].get();
    const std::string& source = edge.src->name();
    Endpoint value{copies_[edge.src->id()], edge.src_output};
    DType type = DType::kFloat;
    if (edge.is_control()) {
      TFLEET_ASSIGN_OR_RETURN(Node * signal,
                              AddEmptyConst(NewName(source + "/ctrl"), *edge.src, from));
      from->AddControlEdge(value.node, signal);
      value = {signal, 0};
    } else {
      type = BaseType(edge.src->output_type(edge.src_output));
    }

    const bool on_host = LivesOnHost(type);
    tensorflow::NodeDef def =
        NewNodeDef(NewName(source), on_host ? "_HostSend" : "_Send", edge.src->assigned_device());
    SetAttr(&def, "T", type);
    SetCutAttrs(edge, &def);
    TFLEET_ASSIGN_OR_RETURN(Node * send, AddPlaced(std::move(def), from));
    TFLEET_RETURN_IF_ERROR(from->AddEdge(value.node, value.index, send, 0).status());

    def = NewNodeDef(NewName(source), on_host ? "_HostRecv" : "_Recv", device);
    SetAttr(&def, "tensor_type", type);
    SetCutAttrs(edge, &def);
    TFLEET_ASSIGN_OR_RETURN(Node * recv, AddPlaced(std::move(def), to));
    if (const auto anchor = anchors_.find(edge.id); anchor != anchors_.end()) {
      to->AddControlEdge(copies_[anchor->second->id()], recv);
    }
    Endpoint result{recv, 0};
    if (edge.is_control()) {
      // What waits for the signal waits for a node of its own: a control edge out of the receive
      // itself would hold in this graph, but graphs that TensorFlow's workers know look like this.
      def = NewNodeDef(NewName(source), "Identity", device);
      SetAttr(&def, "T", type);
      TFLEET_ASSIGN_OR_RETURN(Node * identity, AddPlaced(std::move(def), to));
      TFLEET_RETURN_IF_ERROR(to->AddEdge(recv, 0, identity, 0).status());
      result = {identity, kControlSlot};
    }
    received_[CutKey(edge.src, edge.src_output, device)] = result;
    return result;
  }

  void SetCutAttrs(const Edge& edge, tensorflow::NodeDef* def) const {
    const std::string& sender = edge.src->assigned_device();
    SetAttr(def, "tensor_name", absl::StrCat("edge_", edge.id, "_", edge.src->name()));
    SetAttr(def, "send_device", sender);
    SetAttr(def, "send_device_incarnation", static_cast<int64_t>(options_.incarnation(sender)));
    SetAttr(def, "recv_device", edge.dst->assigned_device());
    SetAttr(def, "client_terminated", false);
    SetAttr(def, "_src", edge.src->name());
    SetAttr(def, "_dst", edge.dst->name());
  }

  StatusOr<Node*> AddEmptyConst(const std::string& name, const Node& beside, Graph* graph) {
    tensorflow::NodeDef def = NewNodeDef(name, "Const", beside.assigned_device());
    SetAttr(&def, "dtype", DType::kFloat);
    TFLEET_ASSIGN_OR_RETURN(const Tensor empty, Tensor::Zeros(DType::kFloat, {0}));
    SetAttr(&def, "value", empty);
    return AddPlaced(std::move(def), graph);
  }

  static StatusOr<Node*> AddPlaced(tensorflow::NodeDef def, Graph* graph) {
    const std::string device = def.device();
    TFLEET_ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(def)));
    node->set_assigned_device(device);
    return node;
  }

  const Graph& original_;
  const PartitionOptions& options_;
  std::unique_ptr<Graph> extended_;  // with control loops and late reads, when there are any
  ReceiveAnchors anchors_;
  int64_t next_name_ = 0;
  std::vector<std::string> piece_names_;
  absl::flat_hash_map<std::string, int> piece_by_name_, piece_of_device_;
  std::vector<std::unique_ptr<Graph>> pieces_;
  std::vector<Node*> copies_;  // by id in graph()
  absl::flat_hash_map<CutKey, Endpoint> received_;
};

}  // namespace

StatusOr<Partitions> Partition(const Graph& graph, const PartitionOptions& options) {
  return Partitioner(graph, options).Run();
}

tensorflow::FunctionDefLibrary UsedFunctions(const Graph& graph) {
  tensorflow::FunctionDefLibrary used;
  if (graph.library() == nullptr || graph.library()->empty()) return used;
  const FunctionLibrary& library = *graph.library();
  absl::flat_hash_set<std::string> seen;
  std::vector<std::string> open;
  auto visit = [&](const tensorflow::NodeDef& node) {
    for (std::string& name : FunctionsNamedBy(node)) open.push_back(std::move(name));
  };
  for (const Node* node : graph.nodes()) visit(node->def());
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const tensorflow::FunctionDef* function = library.Find(name);
    if (function == nullptr || !seen.insert(name).second) continue;
    *used.add_function() = *function;
    for (const tensorflow::NodeDef& node : function->node_def()) visit(node);
    if (const std::string gradient = library.Gradient(name); !gradient.empty()) {
      tensorflow::GradientDef* pair = used.add_gradient();
      pair->set_function_name(name);
      pair->set_gradient_func(gradient);
      open.push_back(gradient);
    }
  }
  return used;
}

}  // namespace tensorfleet
