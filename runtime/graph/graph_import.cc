#include "runtime/graph/graph_import.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"

namespace tensorfleet {
namespace {

Status CheckVersions(const tensorflow::VersionDef& versions) {
  if (versions.min_consumer() > kGraphVersion) {
    return InvalidArgument(
        "GraphDef min consumer version ", versions.min_consumer(), " above current version ",
        kGraphVersion,
        ". Please upgrade tensorfleet, or export the graph with an older TensorFlow.");
  }
  for (const int bad : versions.bad_consumers()) {
    if (bad == kGraphVersion) {
      return InvalidArgument("GraphDef disallows consumer version ", kGraphVersion);
    }
  }
  return OkStatus();
}

// Connects the inputs that `node`'s definition lists.
Status ConnectInputs(Node* node, Graph* graph) {
  int next = 0;
  bool control_seen = false;
  for (const std::string& text : node->def().input()) {
    StatusOr<TensorName> input = ParseTensorName(text);
    if (!input.ok()) return Prefixed(absl::StrCat("Node '", node->name(), "': "), input.status());
    Node* src = graph->FindNode(input->node);
    if (src == nullptr) {
      return InvalidArgument("Node '", node->name(), "': Unknown input node '", text, "'");
    }
    if (input->index == kControlSlot) {
      control_seen = true;
      graph->AddControlEdge(src, node);
      continue;
    }
    if (control_seen) {
      return InvalidArgument("Node '", node->name(),
                             "': Control dependencies must come after regular "
                             "dependencies");
    }
    if (next >= node->num_inputs()) {
      return InvalidArgument("Node '", node->name(), "': op ", node->op(), " has ",
                             node->num_inputs(),
                             " inputs; more are connected, the first one too many is '", text, "'");
    }
    TFLEET_RETURN_IF_ERROR(graph->AddEdge(src, input->index, node, next++).status());
  }
  if (next < node->num_inputs()) {
    return InvalidArgument("Node '", node->name(), "': op ", node->op(), " has ",
                           node->num_inputs(), " inputs; only ", next, " are connected");
  }
  return OkStatus();
}

Status CheckClientNode(const tensorflow::NodeDef& def) {
  if (absl::StartsWith(def.op(), "_")) {
    return InvalidArgument("Op type '", def.op(), "' of node '", def.name(),
                           "' is internal and not allowed in a client's graph");
  }
  return OkStatus();
}

Status AddAll(const tensorflow::GraphDef& def, const ImportOptions& options, Graph* graph,
              std::vector<Node*>* added) {
  TFLEET_RETURN_IF_ERROR(CheckVersions(def.versions()));
  for (const tensorflow::NodeDef& node_def : def.node()) {
    if (!options.allow_internal_ops) TFLEET_RETURN_IF_ERROR(CheckClientNode(node_def));
    TFLEET_ASSIGN_OR_RETURN(Node * node, graph->AddNode(node_def));
    added->push_back(node);
  }
  for (Node* node : *added) TFLEET_RETURN_IF_ERROR(ConnectInputs(node, graph));
  return TopologicalOrder(*graph).status();
}

void FillInputs(const Node& node, tensorflow::NodeDef* def) {
  def->clear_input();
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge* edge = node.in_edge(i);
    if (edge == nullptr) continue;
    def->add_input(edge->src_output == 0 ? edge->src->name()
                                         : absl::StrCat(edge->src->name(), ":", edge->src_output));
  }
  for (const Edge* edge : node.in_edges()) {
    if (edge->is_control()) def->add_input(absl::StrCat("^", edge->src->name()));
  }
}

}  // namespace

Status ImportGraphDef(const tensorflow::GraphDef& def, const ImportOptions& options, Graph* graph) {
  std::vector<Node*> added;
  const Status status = AddAll(def, options, graph, &added);
  if (!status.ok()) {
    for (Node* node : added) graph->RemoveNode(node);
    return status;
  }
  if (graph->versions().producer() == 0) graph->set_versions(def.versions());
  return OkStatus();
}

void ExportGraphDef(const Graph& graph, const ExportOptions& options, tensorflow::GraphDef* def) {
  def->Clear();
  *def->mutable_versions() = graph.versions();
  if (def->versions().producer() == 0) def->mutable_versions()->set_producer(kGraphVersion);
  for (const Node* node : graph.nodes()) {
    tensorflow::NodeDef* out = def->add_node();
    *out = node->def();
    if (!node->assigned_device().empty()) out->set_device(node->assigned_device());
    FillInputs(*node, out);
    if (options.strip_default_attrs) StripDefaultAttrs(node->schema(), out);
  }
  if (graph.library() != nullptr && !graph.library()->empty()) {
    *def->mutable_library() = graph.library()->proto();
  }
}

}  // namespace tensorfleet
