#include "runtime/graph/graph.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "runtime/base/check.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"

namespace tensorfleet {
namespace {

bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_';
}

// "a/b_1", ".x": what clients may write, plus the leading "_" of nodes between servers.
bool IsNodeName(absl::string_view name) {
  if (name.empty() || !IsNameStart(name[0])) return false;
  for (const char c : name) {
    if (!IsNameStart(c) && c != '-' && c != '/' && c != '>' && c != '\\') return false;
  }
  return true;
}

bool Feeds(DType output, DType input) {
  return output == input || (IsRef(output) && BaseType(output) == input);
}

// Both take constant time, also at a node of 100,000 edges.
void Append(Edge* edge) {
  edge->place_in_src = static_cast<int>(edge->src->out_edges().size());
  edge->place_in_dst = static_cast<int>(edge->dst->in_edges().size());
}

template <int Edge::*kPlace>
void Erase(std::vector<Edge*>& edges, const Edge* edge) {
  Edge* const last = edges.back();
  edges[edge->*kPlace] = last;
  last->*kPlace = edge->*kPlace;
  edges.pop_back();
}

}  // namespace

std::string TensorName::ToString() const {
  return index == kControlSlot ? absl::StrCat("^", node) : absl::StrCat(node, ":", index);
}

StatusOr<TensorName> ParseTensorName(absl::string_view text) {
  TensorName name;
  absl::string_view node = text;
  if (!node.empty() && node[0] == '^') {
    node.remove_prefix(1);
    name.index = kControlSlot;
  } else if (const size_t colon = node.rfind(':'); colon != absl::string_view::npos) {
    const absl::string_view digits = node.substr(colon + 1);
    if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos ||
        !absl::SimpleAtoi(digits, &name.index)) {
      return InvalidArgument("'", text, "' is not the name of a tensor");
    }
    node = node.substr(0, colon);
  }
  if (!IsNodeName(node)) return InvalidArgument("'", text, "' is not the name of a tensor");
  name.node = std::string(node);
  return name;
}

bool Node::IsControlFlow() const {
  return IsSwitch() || IsMerge() || IsEnter() || IsExit() || IsNextIteration() || IsLoopCond();
}

Graph::Graph(const OpRegistry* ops, std::shared_ptr<const FunctionLibrary> library)
    : ops_(ops), library_(std::move(library)) {}
Graph::~Graph() = default;

std::unique_ptr<Graph> Graph::Clone() const {
  auto copy = std::make_unique<Graph>(ops_, library_);
  copy->versions_ = versions_;
  // Ids are kept, holes included: what was computed by id stays valid for the copy.
  copy->nodes_.resize(nodes_.size());
  for (const auto& node : nodes_) {
    if (node == nullptr) continue;
    auto twin = std::unique_ptr<Node>(new Node(*node));
    twin->in_edges_.clear();
    twin->out_edges_.clear();
    std::fill(twin->data_in_.begin(), twin->data_in_.end(), nullptr);
    copy->by_name_.emplace(twin->name(), twin.get());
    copy->nodes_[node->id()] = std::move(twin);
  }
  copy->edges_.resize(edges_.size());
  for (const auto& edge : edges_) {
    if (edge == nullptr) continue;
    auto twin = std::make_unique<Edge>(*edge);
    twin->src = copy->nodes_[edge->src->id()].get();
    twin->dst = copy->nodes_[edge->dst->id()].get();
    Append(twin.get());
    twin->src->out_edges_.push_back(twin.get());
    twin->dst->in_edges_.push_back(twin.get());
    if (!twin->is_control()) twin->dst->data_in_[twin->dst_input] = twin.get();
    copy->edges_[edge->id] = std::move(twin);
  }
  return copy;
}

StatusOr<Node*> Graph::AddNode(tensorflow::NodeDef def) {
  if (!IsNodeName(def.name())) {
    return InvalidArgument("'", def.name(), "' is not a valid node name");
  }
  if (by_name_.contains(def.name())) {
    return InvalidArgument("Node name '", def.name(), "' already exists in the Graph");
  }
  auto node = std::unique_ptr<Node>(new Node);
  const StatusOr<const OpSchema*> schema = ops_->Find(def.op());
  if (schema.ok()) {
    node->schema_ = *schema;
  } else {
    if (library_ != nullptr) node->owned_schema_ = library_->Schema(def.op());
    if (node->owned_schema_ == nullptr) {
      return Suffixed(schema.status(), absl::StrCat(" (node '", def.name(), "')"));
    }
    node->schema_ = node->owned_schema_.get();
  }
  TFLEET_RETURN_IF_ERROR(CompleteAttrs(*node->schema_, &def));
  StatusOr<NodeTypes> types = TypesOf(*node->schema_, def);
  if (!types.ok()) return WithNode(types.status(), def.name());
  node->input_types_ = std::move(types->inputs);
  node->output_types_ = std::move(types->outputs);
  node->data_in_.resize(node->input_types_.size(), nullptr);
  node->kinds_ = KindsOf(def.op());
  node->def_ = std::move(def);
  node->id_ = static_cast<int>(nodes_.size());
  Node* added = node.get();
  by_name_.emplace(added->name(), added);
  nodes_.push_back(std::move(node));
  return added;
}

void Graph::RemoveNode(Node* node) {
  while (!node->in_edges_.empty()) RemoveEdge(node->in_edges_.back());
  while (!node->out_edges_.empty()) RemoveEdge(node->out_edges_.back());
  by_name_.erase(node->name());
  nodes_[node->id()].reset();
}

StatusOr<const Edge*> Graph::AddEdge(Node* src, int src_output, Node* dst, int dst_input) {
  if (src_output < 0 || src_output >= src->num_outputs()) {
    return InvalidArgument("Node '", dst->name(), "': Connecting to invalid output ", src_output,
                           " of source node ", src->name(), " which has ", src->num_outputs(),
                           " outputs.");
  }
  if (dst_input < 0 || dst_input >= dst->num_inputs()) {
    return InvalidArgument("Node '", dst->name(), "' has no input ", dst_input, "; op ", dst->op(),
                           " has ", dst->num_inputs());
  }
  if (dst->data_in_[dst_input] != nullptr) {
    return InvalidArgument("Input ", dst_input, " of node '", dst->name(), "' is connected twice");
  }
  const DType have = src->output_type(src_output), want = dst->input_type(dst_input);
  if (!Feeds(have, want)) {
    return InvalidArgument("Input ", dst_input, " of node ", dst->name(), " was passed ",
                           DTypeName(have), " from ", src->name(), ":", src_output,
                           " incompatible with expected ", DTypeName(want), ".");
  }
  auto edge = std::make_unique<Edge>(
      Edge{static_cast<int>(edges_.size()), src, dst, src_output, dst_input});
  Append(edge.get());
  src->out_edges_.push_back(edge.get());
  dst->in_edges_.push_back(edge.get());
  dst->data_in_[dst_input] = edge.get();
  edges_.push_back(std::move(edge));
  return edges_.back().get();
}

const Edge* Graph::AddControlEdge(Node* src, Node* dst) {
  const bool from_src = src->out_edges_.size() < dst->in_edges_.size();
  for (const Edge* edge : from_src ? src->out_edges_ : dst->in_edges_) {
    if (edge->is_control() && edge->src == src && edge->dst == dst) return edge;
  }
  auto edge = std::make_unique<Edge>(
      Edge{static_cast<int>(edges_.size()), src, dst, kControlSlot, kControlSlot});
  Append(edge.get());
  src->out_edges_.push_back(edge.get());
  dst->in_edges_.push_back(edge.get());
  edges_.push_back(std::move(edge));
  return edges_.back().get();
}

void Graph::RemoveEdge(const Edge* edge) {
  Erase<&Edge::place_in_src>(edge->src->out_edges_, edge);
  Erase<&Edge::place_in_dst>(edge->dst->in_edges_, edge);
  if (!edge->is_control()) edge->dst->data_in_[edge->dst_input] = nullptr;
  edges_[edge->id].reset();
}

Status Graph::ReplaceInput(Node* dst, int dst_input, Node* src, int src_output) {
  if (const Edge* old = dst->in_edge(dst_input); old != nullptr) RemoveEdge(old);
  return AddEdge(src, src_output, dst, dst_input).status();
}

Node* Graph::FindNode(absl::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::vector<Node*> Graph::nodes() const {
  std::vector<Node*> all;
  all.reserve(by_name_.size());
  for (const auto& node : nodes_) {
    if (node != nullptr) all.push_back(node.get());
  }
  return all;
}

std::string Graph::UniqueName(absl::string_view prefix) {
  std::string name(prefix);
  if (!by_name_.contains(name)) return name;
  int& suffix = suffixes_[name];
  do {
    name = absl::StrCat(prefix, "_", ++suffix);
  } while (by_name_.contains(name));
  return name;
}

StatusOr<std::vector<Node*>> TopologicalOrder(const Graph& graph) {
  std::vector<int> pending(graph.num_node_ids(), 0);
  std::vector<Node*> order;
  order.reserve(graph.num_nodes());
  const std::vector<Node*> nodes = graph.nodes();
  for (Node* node : nodes) {
    for (const Edge* edge : node->in_edges()) {
      if (!edge->src->IsNextIteration()) ++pending[node->id()];
    }
    if (pending[node->id()] == 0) order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i]->IsNextIteration()) continue;
    for (const Edge* edge : order[i]->out_edges()) {
      if (--pending[edge->dst->id()] == 0) order.push_back(edge->dst);
    }
  }
  if (order.size() == nodes.size()) return order;
  for (const Node* node : nodes) {
    if (pending[node->id()] > 0) {
      return InvalidArgument("Graph is invalid, it has a cycle that is not a loop through node '",
                             node->name(), "'");
    }
  }
  return Internal("topological order missed a node");
}

}  // namespace tensorfleet
