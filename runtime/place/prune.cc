#include "runtime/place/prune.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/graph/attr.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {
namespace {

struct Tensors {
  std::vector<TensorName> names;  // canonical
  std::vector<Endpoint> endpoints;
};

struct ResolvedSignature {
  Tensors feeds, fetches;
  std::vector<Node*> targets;
};

StatusOr<std::vector<TensorName>> ParseAll(const std::vector<std::string>& texts) {
  std::vector<TensorName> names;
  names.reserve(texts.size());
  for (const std::string& text : texts) {
    TFLEET_ASSIGN_OR_RETURN(TensorName name, ParseTensorName(text));
    if (name.index == kControlSlot) {
      return InvalidArgument("'", text, "' names no tensor: a tensor is written 'node:index'.");
    }
    names.push_back(std::move(name));
  }
  return names;
}

Status CheckFeedsAndFetches(const std::vector<TensorName>& feeds,
                            const std::vector<TensorName>& fetches) {
  absl::flat_hash_set<std::string> fed;
  for (const TensorName& feed : feeds) {
    if (!fed.insert(feed.ToString()).second) {
      return InvalidArgument("Endpoint \"", feed.ToString(), "\" fed more than once.");
    }
  }
  for (const TensorName& fetch : fetches) {
    if (fed.contains(fetch.ToString())) {
      return InvalidArgument(fetch.ToString(), " is both fed and fetched.");
    }
  }
  return OkStatus();
}

StatusOr<Endpoint> FindFeed(const TensorName& name, const Graph& graph) {
  Node* node = graph.FindNode(name.node);
  if (node == nullptr) {
    return NotFound("FeedInputs: unable to find feed output ", name.ToString());
  }
  if (name.index >= node->num_outputs()) {
    return InvalidArgument("FeedInputs: ", name.ToString(), " should have output index < ",
                           node->num_outputs());
  }
  return Endpoint{node, name.index};
}

StatusOr<Endpoint> FindFetch(const TensorName& name, const Graph& graph) {
  Node* node = graph.FindNode(name.node);
  if (node == nullptr) return NotFound("FetchOutputs node ", name.ToString(), ": not found");
  if (node->num_outputs() == 0) {
    return InvalidArgument("Tried to fetch data for '", name.ToString(),
                           "', which produces no output.  To run to a node but not fetch any data, "
                           "pass '",
                           name.node, "' as a target instead.");
  }
  if (name.index >= node->num_outputs()) {
    return InvalidArgument("FetchOutputs ", name.ToString(), ": output index too large, must be < ",
                           node->num_outputs());
  }
  return Endpoint{node, name.index};
}

StatusOr<ResolvedSignature> Resolve(const Signature& signature, const Graph& graph) {
  if (signature.fetches.empty() && signature.targets.empty()) {
    return InvalidArgument("Must specify at least one target to fetch or execute.");
  }
  ResolvedSignature resolved;
  TFLEET_ASSIGN_OR_RETURN(resolved.feeds.names, ParseAll(signature.feeds));
  TFLEET_ASSIGN_OR_RETURN(resolved.fetches.names, ParseAll(signature.fetches));
  TFLEET_RETURN_IF_ERROR(CheckFeedsAndFetches(resolved.feeds.names, resolved.fetches.names));
  for (const TensorName& name : resolved.feeds.names) {
    TFLEET_ASSIGN_OR_RETURN(Endpoint endpoint, FindFeed(name, graph));
    resolved.feeds.endpoints.push_back(endpoint);
  }
  for (const TensorName& name : resolved.fetches.names) {
    TFLEET_ASSIGN_OR_RETURN(Endpoint endpoint, FindFetch(name, graph));
    resolved.fetches.endpoints.push_back(endpoint);
  }
  std::string missing;
  for (const std::string& target : signature.targets) {
    Node* node = graph.FindNode(target);
    if (node == nullptr) absl::StrAppend(&missing, target, " ");
    resolved.targets.push_back(node);
  }
  if (!missing.empty()) {
    return NotFound("PruneForTargets: Some target nodes not found: ", missing);
  }
  return resolved;
}

// Copies what is needed into a graph of its own.
class Pruner {
 public:
  Pruner(const ResolvedSignature& signature, const PruneOptions& options, const Graph& graph)
      : signature_(signature), options_(options), full_(graph) {}

  StatusOr<PrunedGraph> Run() {
    result_.graph = std::make_unique<Graph>(&full_.ops(), full_.library());
    result_.graph->set_versions(full_.versions());
    copies_.resize(full_.num_node_ids(), nullptr);
    for (size_t i = 0; i < signature_.feeds.endpoints.size(); ++i) {
      const Endpoint& feed = signature_.feeds.endpoints[i];
      feeds_by_node_[feed.node].push_back({feed.index, static_cast<int>(i)});
    }
    feed_nodes_.resize(signature_.feeds.endpoints.size(), nullptr);
    CollectNeeded();
    TFLEET_RETURN_IF_ERROR(CopyNeeded());
    TFLEET_RETURN_IF_ERROR(AddFeeds());
    TFLEET_RETURN_IF_ERROR(Connect());
    TFLEET_RETURN_IF_ERROR(AddFetches());
    return std::move(result_);
  }

 private:
  struct Fed {
    int output;
    int position;  // in the feeds
  };

  // The feed that replaces what `edge` carries, or -1.
  int FeedBehind(const Edge& edge) const {
    if (feeds_by_node_.empty()) return -1;
    auto it = feeds_by_node_.find(edge.src);
    if (it == feeds_by_node_.end()) return -1;
    if (edge.is_control()) {
      const bool placeholder = edge.src->Is(NodeKind::kPlaceholder);
      return placeholder ? it->second.front().position : -1;
    }
    for (const Fed& fed : it->second) {
      if (fed.output == edge.src_output) return fed.position;
    }
    return -1;
  }

  // Nodes from which fetches and targets are reached without passing a feed, ascending ids.
  void CollectNeeded() {
    std::vector<bool> seen(full_.num_node_ids(), false);
    std::vector<Node*> open;
    auto visit = [&](Node* node) {
      if (seen[node->id()]) return;
      seen[node->id()] = true;
      open.push_back(node);
    };
    for (const Endpoint& fetch : signature_.fetches.endpoints) visit(fetch.node);
    for (Node* target : signature_.targets) visit(target);
    while (!open.empty()) {
      Node* node = open.back();
      open.pop_back();
      for (const Edge* edge : node->in_edges()) {
        if (FeedBehind(*edge) < 0) visit(edge->src);
      }
    }
    for (int id = 0; id < full_.num_node_ids(); ++id) {
      if (seen[id]) needed_.push_back(full_.node(id));
    }
  }

  Status CopyNeeded() {
    for (const Node* node : needed_) {
      TFLEET_ASSIGN_OR_RETURN(copies_[node->id()], CopyNode(*node, result_.graph.get()));
    }
    return OkStatus();
  }

  Status AddFeeds() {
    for (size_t i = 0; i < signature_.feeds.endpoints.size(); ++i) {
      const Endpoint& feed = signature_.feeds.endpoints[i];
      const DType type = BaseType(feed.node->output_type(feed.index));
      result_.feed_types.push_back(type);
      const std::string tensor = absl::StrCat(feed.node->name(), "_", feed.index);
      tensorflow::NodeDef def;
      if (options_.feed_style == FeedStyle::kCallFrame) {
        def = NewNodeDef(result_.graph->UniqueName(absl::StrCat("_arg_", tensor, "_", i)), "_Arg",
                         options_.client_device);
        SetAttr(&def, "T", type);
        SetAttr(&def, "index", static_cast<int64_t>(i));
      } else {
        def = NewNodeDef(result_.graph->UniqueName(absl::StrCat("_recv_", tensor)), "_Recv",
                         options_.client_device);
        SetAttr(&def, "tensor_type", type);
        SetRendezvousAttrs(signature_.feeds.names[i], &def);
      }
      TFLEET_ASSIGN_OR_RETURN(feed_nodes_[i], AddClientNode(std::move(def)));
    }
    return OkStatus();
  }

  Status Connect() {
    Graph* graph = result_.graph.get();
    for (const Node* node : needed_) {
      Node* copy = copies_[node->id()];
      for (const Edge* edge : node->in_edges()) {
        const int feed = FeedBehind(*edge);
        Node* src = feed < 0 ? copies_[edge->src->id()] : feed_nodes_[feed];
        if (edge->is_control()) {
          graph->AddControlEdge(src, copy);
          continue;
        }
        const int output = feed < 0 ? edge->src_output : 0;
        TFLEET_RETURN_IF_ERROR(graph->AddEdge(src, output, copy, edge->dst_input).status());
      }
    }
    return OkStatus();
  }

  Status AddFetches() {
    absl::flat_hash_set<std::string> sent;
    for (size_t i = 0; i < signature_.fetches.endpoints.size(); ++i) {
      const Endpoint& fetch = signature_.fetches.endpoints[i];
      const DType type = BaseType(fetch.node->output_type(fetch.index));
      result_.fetch_types.push_back(type);
      const std::string tensor = absl::StrCat(fetch.node->name(), "_", fetch.index);
      tensorflow::NodeDef def;
      if (options_.feed_style == FeedStyle::kCallFrame) {
        def = NewNodeDef(result_.graph->UniqueName(absl::StrCat("_retval_", tensor, "_", i)),
                         "_Retval", options_.client_device);
        SetAttr(&def, "index", static_cast<int64_t>(i));
      } else {
        if (!sent.insert(tensor).second) continue;
        def = NewNodeDef(result_.graph->UniqueName(absl::StrCat("_send_", tensor)), "_Send",
                         options_.client_device);
        SetRendezvousAttrs(signature_.fetches.names[i], &def);
      }
      SetAttr(&def, "T", type);
      TFLEET_ASSIGN_OR_RETURN(Node * node, AddClientNode(std::move(def)));
      Node* src = copies_[fetch.node->id()];
      TFLEET_RETURN_IF_ERROR(result_.graph->AddEdge(src, fetch.index, node, 0).status());
    }
    return OkStatus();
  }

  void SetRendezvousAttrs(const TensorName& name, tensorflow::NodeDef* def) const {
    SetAttr(def, "tensor_name", name.ToString());
    SetAttr(def, "send_device", options_.client_device);
    SetAttr(def, "recv_device", options_.client_device);
    SetAttr(def, "send_device_incarnation", static_cast<int64_t>(options_.client_incarnation));
    SetAttr(def, "client_terminated", true);
  }

  StatusOr<Node*> AddClientNode(tensorflow::NodeDef def) {
    TFLEET_ASSIGN_OR_RETURN(Node * node, result_.graph->AddNode(std::move(def)));
    node->set_assigned_device(options_.client_device);
    return node;
  }

  const ResolvedSignature& signature_;
  const PruneOptions& options_;
  const Graph& full_;
  PrunedGraph result_;
  absl::flat_hash_map<const Node*, std::vector<Fed>> feeds_by_node_;
  std::vector<Node*> needed_;      // in full_
  std::vector<Node*> copies_;      // by id in full_
  std::vector<Node*> feed_nodes_;  // by position
};

}  // namespace

StatusOr<PrunedGraph> Prune(const Signature& signature, const PruneOptions& options,
                            const Graph& graph) {
  TFLEET_ASSIGN_OR_RETURN(const ResolvedSignature resolved, Resolve(signature, graph));
  return Pruner(resolved, options, graph).Run();
}

}  // namespace tensorfleet
