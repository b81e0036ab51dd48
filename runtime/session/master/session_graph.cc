#include "runtime/session/master/session_graph.h"

#include <google/protobuf/text_format.h>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/base/small_file.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph_import.h"
#include "runtime/place/analysis/collectives_in.h"
#include "runtime/place/partition.h"
#include "runtime/place/rewrite.h"
#include "runtime/session/master/graph_bytes.h"

namespace tensorfleet {
namespace {

// Whether `library` lacks a function that `def` brings.
bool BringsFunctions(const tensorflow::GraphDef& def, const Graph& graph) {
  for (const auto& function : def.library().function()) {
    if (graph.library()->Find(function.signature().name()) == nullptr) return true;
  }
  return false;
}

// For partial runs: which feeds each fetch needs, by position. The graph's receives from the client
// are its feeds, its sends to the client its fetches.
std::vector<std::vector<int>> NeedsOfFetches(const Graph& graph, const Signature& signature) {
  absl::flat_hash_map<std::string, int> feed_index;
  for (size_t i = 0; i < signature.feeds.size(); ++i) feed_index[signature.feeds[i]] = i;
  absl::flat_hash_map<std::string, const Node*> sends;
  const auto tensor_of = [](const Node& node) -> std::string {
    if (!GetAttrOr<bool>(node.def(), "client_terminated", false).value_or(false)) return "";
    return GetAttrOr<std::string>(node.def(), "tensor_name", "").value_or("");
  };
  for (const Node* node : graph.nodes()) {
    if (node->IsSend()) sends[tensor_of(*node)] = node;
  }
  std::vector<std::vector<int>> needs(signature.fetches.size());
  for (size_t i = 0; i < signature.fetches.size(); ++i) {
    const auto send = sends.find(signature.fetches[i]);
    if (send == sends.end()) continue;
    std::vector<const Node*> todo = {send->second};
    absl::flat_hash_set<const Node*> seen(todo.begin(), todo.end());
    while (!todo.empty()) {
      const Node* node = todo.back();
      todo.pop_back();
      if (node->IsRecv()) {
        const auto feed = feed_index.find(tensor_of(*node));
        if (feed != feed_index.end()) needs[i].push_back(feed->second);
      }
      for (const Edge* edge : node->in_edges()) {
        if (seen.insert(edge->src).second) todo.push_back(edge->src);
      }
    }
  }
  return needs;
}

// Lets every consumer of `to` read `from` instead.
Status Connect(const std::string& from_text, const std::string& to_text, Graph* graph) {
  TFLEET_ASSIGN_OR_RETURN(const TensorName from, ParseTensorName(from_text));
  TFLEET_ASSIGN_OR_RETURN(const TensorName to, ParseTensorName(to_text));
  Node* const source = graph->FindNode(from.node);
  Node* const replaced = graph->FindNode(to.node);
  if (source == nullptr) return InvalidArgument("tensor_connection: unknown tensor ", from_text);
  if (replaced == nullptr) return InvalidArgument("tensor_connection: unknown tensor ", to_text);
  if (from.index < 0 || from.index >= source->num_outputs() || to.index < 0 ||
      to.index >= replaced->num_outputs() ||
      BaseType(source->output_type(from.index)) != BaseType(replaced->output_type(to.index))) {
    return InvalidArgument("tensor_connection: ", from_text, " cannot take the place of ", to_text);
  }
  const std::vector<Edge*> edges = replaced->out_edges();
  for (const Edge* edge : edges) {
    if (edge->src_output != to.index) continue;
    TFLEET_RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, source, from.index));
  }
  return TopologicalOrder(*graph).status();
}

// `present` with room for what `def` brings: a new one when its functions are new, since a graph's
// library does not change.
StatusOr<std::unique_ptr<Graph>> Grown(const Graph& present, const tensorflow::GraphDef& def) {
  if (!BringsFunctions(def, present)) return present.Clone();
  TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionLibrary> library,
                          present.library()->With(def.library()));
  auto grown = std::make_unique<Graph>(&present.ops(), library);
  tensorflow::GraphDef nodes;
  ExportGraphDef(present, {}, &nodes);
  ImportOptions import;
  import.allow_internal_ops = true;
  for (int i = 0; i < nodes.node_size(); ++i) {
    nodes.mutable_node(i)->set_device(present.FindNode(nodes.node(i).name())->requested_device());
  }
  TFLEET_RETURN_IF_ERROR(ImportGraphDef(nodes, import, grown.get()));
  for (const Node* node : present.nodes()) {
    grown->FindNode(node->name())->set_assigned_device(node->assigned_device());
  }
  return grown;
}

}  // namespace

SessionGraph::SessionGraph(Options options)
    : options_(std::move(options)),
      graph_(std::make_unique<Graph>(options_.ops, std::make_shared<const FunctionLibrary>())) {}

Status SessionGraph::Extend(const tensorflow::GraphDef& def) {
  MutexLock extending(&extend_mu_);
  const std::shared_ptr<const Graph> present = Present();
  if (def.node_size() == 0 && !BringsFunctions(def, *present)) return OkStatus();
  for (const tensorflow::NodeDef& node : def.node()) {
    if (present->FindNode(node.name()) != nullptr) {
      return InvalidArgument("GraphDef argument to Extend includes node '", node.name(),
                             "', which was created by a previous call to Create or Extend in this "
                             "session.");
    }
  }
  if (options_.limits != nullptr) {
    TFLEET_RETURN_IF_ERROR(options_.limits->CheckGraph(def, nodes_));
  }
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Graph> grown, Grown(*present, def));
  TFLEET_RETURN_IF_ERROR(ImportGraphDef(def, {}, grown.get()));
  ForgetStatelessPlacement(grown.get());
  Dump(*grown, "before_placing");
  TFLEET_RETURN_IF_ERROR(Place(options_.placement, grown.get()));
  Dump(*grown, "placed");
  nodes_ += CountNodes(def);
  MutexLock lock(&mu_);
  graph_ = std::move(grown);
  return OkStatus();
}

std::shared_ptr<const Graph> SessionGraph::Present() {
  MutexLock lock(&mu_);
  return graph_;
}

StatusOr<SessionGraph::Cut> SessionGraph::CutFor(
    const Signature& signature, FeedStyle style,
    const std::vector<std::pair<std::string, std::string>>& connections,
    const CancellationManager& cancellation) {
  if (cancellation.is_cancelled()) return cancellation.status();
  PruneOptions prune;
  prune.client_device = options_.placement.client_device;
  prune.client_incarnation = options_.client_incarnation;
  prune.feed_style = style;
  PrunedGraph pruned;
  int whole_size = 0;
  {
    std::shared_ptr<const Graph> graph = Present();
    if (!connections.empty()) {
      std::shared_ptr<Graph> connected = graph->Clone();
      for (const auto& [from, to] : connections) {
        TFLEET_RETURN_IF_ERROR(Connect(from, to, connected.get()));
      }
      graph = std::move(connected);
    }
    whole_size = graph->num_nodes();
    TFLEET_ASSIGN_OR_RETURN(pruned, Prune(signature, prune, *graph));
  }
  LogDebug("Pruned a graph", {{"nodes", pruned.graph->num_nodes()}, {"of", whole_size}});
  Dump(*pruned.graph, "pruned");
  PlacementOptions placement = options_.placement;
  placement.calls_are_expanded = false;
  placement.log = nullptr;
  RewriteContext context;
  context.options = RewriteOptionsFrom(options_.graph_options);
  context.options.gather_clusters = style != FeedStyle::kRendezvous;
  context.placement = &placement;
  context.cpu = options_.cpu;
  context.cpu_kernels = placement.kernels;
  context.cancellation = &cancellation;
  TFLEET_RETURN_IF_ERROR(RewriteGraph(pruned.graph.get(), context));
  if (cancellation.is_cancelled()) return cancellation.status();
  Dump(*pruned.graph, "rewritten");

  Cut cut;
  cut.contents.feed_types = std::move(pruned.feed_types);
  cut.contents.fetch_types = std::move(pruned.fetch_types);
  if (style == FeedStyle::kRendezvous) {
    cut.contents.fetch_needs = NeedsOfFetches(*pruned.graph, signature);
  }
  cut.contents.collective_graph_key = CollectivesIn(*pruned.graph).graph_key();
  PartitionOptions partition;
  partition.by = PartitionOptions::By::kTask;
  partition.name_counter = &name_counter_;
  partition.incarnation = [this](const std::string& device) { return IncarnationOf(device); };
  TFLEET_ASSIGN_OR_RETURN(Partitions pieces, Partition(*pruned.graph, partition));
  for (auto& [task, graph] : pieces) {
    cut.tasks.push_back(task);
    cut.contents.bytes += BytesKeptFor(*graph);
    cut.contents.parts.emplace_back().graph = std::move(graph);
  }
  return cut;
}

uint64_t SessionGraph::IncarnationOf(const std::string& device) const {
  for (const DeviceAttributes& known : options_.placement.devices) {
    if (known.name == device) return known.incarnation;
  }
  return 0;
}

void SessionGraph::Dump(const Graph& graph, absl::string_view what) {
  if (options_.dump_dir.empty()) return;
  tensorflow::GraphDef def;
  ExportGraphDef(graph, {}, &def);
  std::string text;
  google::protobuf::TextFormat::PrintToString(def, &text);
  const std::string path = absl::StrCat(options_.dump_dir, "/", options_.name, "_",
                                        absl::Dec(++dumps_, absl::kZeroPad4), "_", what, ".pbtxt");
  const Status written = WriteSmallFile(path, text);
  if (!written.ok()) LogWarning("A graph could not be dumped", {{"error", written.message()}});
}

}  // namespace tensorfleet
