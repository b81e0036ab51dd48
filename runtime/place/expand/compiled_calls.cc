#include "runtime/place/expand/compiled_calls.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "runtime/kernels/accelerator.h"
#include "runtime/place/expand/expand_call.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/expand/lower_control_flow.h"
#include "runtime/place/rewrite.h"

namespace tensorfleet {
namespace {

// Compiling takes longer than linear time; what is larger is taken apart.
constexpr int kMaxNodes = 20'000;
constexpr int kMaxDepth = 16;

bool HasCompiledForm(DType type) {
  return type == DType::kResource || type == DType::kBool || IsFloating(type) || IsInteger(type) ||
         IsComplex(type);
}

bool HaveCompiledForms(const std::vector<DType>& types) {
  return std::all_of(types.begin(), types.end(), HasCompiledForm);
}

class WholeCall {
 public:
  WholeCall(const KernelRegistry& kernels, const DeviceName& device)
      : kernels_(kernels), device_(device) {}

  bool Compiles(const Node& call, const Graph& graph) {
    if (depth_ == kMaxDepth) return false;
    if (!HaveCompiledForms(call.input_types()) || !HaveCompiledForms(call.output_types())) {
      return false;
    }
    const auto functions = FunctionsOf(call, graph);
    if (!functions.ok()) return false;
    const auto bodies = BodiesOf(*functions, graph);
    if (!bodies.ok()) return false;
    // The host takes it apart where the accelerator cannot run it after all.
    if (!IsPlainCall(call, graph) && !CanLower(call, *bodies)) return false;
    ++depth_;
    const bool all = std::all_of(bodies->begin(), bodies->end(),
                                 [this](const FunctionBody& body) { return CompilesBody(body); });
    --depth_;
    return all;
  }

 private:
  bool CompilesBody(const FunctionBody& body) {
    const auto nodes = NeededNodes(body);
    if (!nodes.ok()) return false;
    nodes_ += static_cast<int>(nodes->size());
    return nodes_ <= kMaxNodes && std::all_of(nodes->begin(), nodes->end(), [&](const Node* node) {
             return MayBeOn(*node) && CompilesNode(*node, *body.graph);
           });
  }

  bool MayBeOn(const Node& node) const {
    if (node.requested_device().empty()) return true;
    const StatusOr<DeviceName> wanted = DeviceName::Parse(node.requested_device());
    return wanted.ok() && wanted->Matches(device_);
  }

  bool CompilesNode(const Node& node, const Graph& graph) {
    if (!HaveCompiledForms(node.input_types()) || !HaveCompiledForms(node.output_types())) {
      return false;
    }
    if (node.IsArg() || node.IsRetval()) return true;
    if (IsFunctionCall(node, graph)) return Compiles(node, graph);
    const bool offers_handle = std::find(node.output_types().begin(), node.output_types().end(),
                                         DType::kResource) != node.output_types().end();
    if (offers_handle) return node.op() == "Identity";
    return kernels_.Has(node, kCompiled);
  }

  const KernelRegistry& kernels_;
  const DeviceName& device_;
  int nodes_ = 0;
  int depth_ = 0;
};

// Numbers that count or describe shapes alone are better left to the host.
bool ComputesNumbers(const Node& call) {
  const auto is_number = [](DType type) {
    return IsFloating(type) || IsComplex(type) || type == DType::kResource;
  };
  return std::any_of(call.input_types().begin(), call.input_types().end(), is_number);
}

// The device that holds all variables that the call takes; empty when it takes none, "?" when they
// are on several, or it cannot be told.
std::string DeviceOfVariables(const Node& call) {
  std::string device;
  for (const Edge* edge : call.in_edges()) {
    if (edge->is_control() || edge->src->output_type(edge->src_output) != DType::kResource)
      continue;
    const std::string& here = edge->src->assigned_device();
    if (here.empty() || (!device.empty() && device != here)) return "?";
    device = here;
  }
  return device;
}

}  // namespace

StatusOr<std::vector<Node*>> NeededNodes(const FunctionBody& body) {
  std::vector<bool> needed(body.graph->num_node_ids());
  std::vector<const Node*> open;
  const auto visit = [&](const Node* node) {
    if (needed[node->id()]) return;
    needed[node->id()] = true;
    open.push_back(node);
  };
  for (const Node* node : body.returns) visit(node);
  for (const Node* node : body.control_returns) visit(node);
  for (const Node* node : body.graph->nodes()) {
    if (node->schema().is_stateful || node->IsArg()) visit(node);
  }
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    for (const Edge* edge : node->in_edges()) visit(edge->src);
  }
  TFLEET_ASSIGN_OR_RETURN(std::vector<Node*> order, TopologicalOrder(*body.graph));
  order.erase(std::remove_if(order.begin(), order.end(),
                             [&](const Node* node) { return !needed[node->id()]; }),
              order.end());
  return order;
}

bool CompilesWhole(const Node& call, const Graph& graph, const KernelRegistry& kernels,
                   const DeviceName& device) {
  return WholeCall(kernels, device).Compiles(call, graph);
}

std::string AcceleratorFor(const Node& call, const Graph& graph, const RewriteContext& context) {
  if (!context.options.gather_clusters || !ComputesNumbers(call)) return "";
  const StatusOr<DeviceName> wanted = DeviceName::Parse(call.requested_device());
  const StatusOr<DeviceName> placed = DeviceName::Parse(call.assigned_device());
  if (!wanted.ok() || !placed.ok()) return "";
  const std::string variables = DeviceOfVariables(call);
  for (const DeviceAttributes& device : context.placement->devices) {
    if (!absl::StartsWith(device.description, kClusterDevicePrefix)) continue;
    if (!variables.empty() && variables != device.name) continue;
    const StatusOr<DeviceName> name = DeviceName::Parse(device.name);
    // The placer may have put a call that no accelerator runs by itself on its task's CPU.
    if (!name.ok() || !wanted->Matches(*name) || !placed->IsSameTask(*name)) continue;
    return CompilesWhole(call, graph, *context.placement->kernels, *name) ? device.name : "";
  }
  return "";
}

}  // namespace tensorfleet
