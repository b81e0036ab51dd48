#include "runtime/session/worker/registered_graph.h"

#include <set>

#include "absl/container/flat_hash_map.h"
#include "runtime/execute/function_runtime.h"
#include "runtime/place/analysis/collectives_in.h"
#include "runtime/place/partition.h"
#include "runtime/session/metrics.h"

namespace tensorfleet {
namespace {

// Resolves every node's device. Gives the names of the devices that are used.
StatusOr<std::set<std::string>> AssignDevices(const WorkerSession& session, Graph* graph) {
  std::set<std::string> used;
  absl::flat_hash_map<std::string, std::string> full_names;
  for (Node* node : graph->nodes()) {
    const std::string& name =
        node->assigned_device().empty() ? node->requested_device() : node->assigned_device();
    if (name.empty()) {
      return InvalidArgument("Node '", node->name(), "' is missing a device specification");
    }
    std::string& full = full_names[name];
    if (full.empty()) {
      TFLEET_ASSIGN_OR_RETURN(const LocalDevice* device, session.FindDevice(name));
      full = device->device->name();
      used.insert(full);
    }
    node->set_assigned_device(full);
  }
  return used;
}

}  // namespace

RegisteredGraph::RegisteredGraph() { ++ServerMetrics().worker_graphs; }
RegisteredGraph::~RegisteredGraph() { --ServerMetrics().worker_graphs; }

StatusOr<std::shared_ptr<RegisteredGraph>> RegisteredGraph::Make(WorkerSession* session,
                                                                 std::unique_ptr<Graph> graph) {
  TFLEET_ASSIGN_OR_RETURN(const std::set<std::string> used, AssignDevices(*session, graph.get()));
  auto registered = std::make_shared<RegisteredGraph>();
  if (used.size() <= 1) {
    const LocalDevice* device = session->devices().data();
    if (!used.empty()) {
      TFLEET_ASSIGN_OR_RETURN(device, session->FindDevice(*used.begin()));
    }
    TFLEET_RETURN_IF_ERROR(registered->AddPiece(session, device, std::move(graph)));
  } else {
    PartitionOptions options;
    options.by = PartitionOptions::By::kDevice;
    options.name_counter = session->name_counter();
    options.incarnation = [session](const std::string& name) -> uint64_t {
      const StatusOr<const LocalDevice*> device = session->FindDevice(name);
      return device.ok() ? (*device)->device->attributes().incarnation : 0;
    };
    TFLEET_ASSIGN_OR_RETURN(Partitions pieces, Partition(*graph, options));
    for (auto& [name, piece] : pieces) {
      TFLEET_ASSIGN_OR_RETURN(const LocalDevice* device, session->FindDevice(name));
      TFLEET_RETURN_IF_ERROR(registered->AddPiece(session, device, std::move(piece)));
    }
  }
  ++ServerMetrics().graphs_registered;
  return registered;
}

Status RegisteredGraph::AddPiece(WorkerSession* session, const LocalDevice* device,
                                 std::unique_ptr<Graph> graph) {
  for (const Node* node : graph->nodes()) has_transfers_ |= node->IsSend() || node->IsRecv();
  has_transfers_ |= CollectivesIn(*graph).found;
  Piece piece;
  piece.device = device;
  KernelMaker maker;
  maker.kernels = session->options().kernels;
  maker.device = device->device;
  maker.resources = device->resources;
  maker.library = graph->library();
  // Also without functions of its own: what restores an iterator calls those that were saved.
  FunctionRuntime::Options functions;
  functions.ops = session->options().ops;
  functions.library = maker.library;
  functions.kernels = maker.kernels;
  functions.device = device->device;
  functions.resources = device->resources;
  piece.functions = std::make_unique<FunctionRuntime>(std::move(functions));
  maker.functions = piece.functions.get();
  Executor::Options options;
  options.device = device->device;
  options.kernels = device->kernels->Provider(std::move(maker));
  TFLEET_ASSIGN_OR_RETURN(piece.executor, Executor::Compile(std::move(graph), options));
  pieces_.push_back(std::move(piece));
  return OkStatus();
}

}  // namespace tensorfleet
