// TF_TryEvaluateConstant: runs the part of a graph that an output follows from, where that part
// depends on nothing else.
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "runtime/capi/graph.h"
#include "runtime/capi/tensor.h"
#include "runtime/client/session.h"

namespace tensorfleet::capi {
namespace {

bool FollowsFromInputs(const Node& node) {
  return !node.schema().is_stateful && !node.IsControlFlow() && !node.IsArg() &&
         !absl::StartsWith(node.op(), "Placeholder");
}

// The nodes that `node` follows from, with itself; empty when it depends on a step.
absl::flat_hash_set<std::string> NodesBelow(const Node* node) {
  absl::flat_hash_set<const Node*> seen = {node};
  absl::flat_hash_set<std::string> names;
  std::vector<const Node*> todo = {node};
  while (!todo.empty()) {
    const Node* next = todo.back();
    todo.pop_back();
    if (!FollowsFromInputs(*next)) return {};
    names.insert(next->name());
    for (const Edge* edge : next->in_edges()) {
      if (seen.insert(edge->src).second) todo.push_back(edge->src);
    }
  }
  return names;
}

StatusOr<TF_Tensor*> Evaluate(TF_Graph* graph, TF_Output of) {
  tensorflow::GraphDef part;
  std::string name;
  {
    MutexLock lock(&graph->mu);
    TFLEET_ASSIGN_OR_RETURN(const Output output, OutputIn(*graph, of));
    name = output.name();
    const absl::flat_hash_set<std::string> wanted = NodesBelow(output.node());
    if (wanted.empty()) return nullptr;
    TFLEET_ASSIGN_OR_RETURN(tensorflow::GraphDef all, graph->scope.ToGraphDef());
    for (tensorflow::NodeDef& node : *all.mutable_node()) {
      if (!wanted.contains(node.name())) continue;
      node.clear_device();  // of a cluster that is not here
      part.add_node()->Swap(&node);
    }
    *part.mutable_versions() = all.versions();
    part.mutable_library()->Swap(all.mutable_library());
  }
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(""));
  TFLEET_RETURN_IF_ERROR(session->Extend(part));
  StepRequest step;
  step.fetches.push_back(name);
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> values, session->Run(step));
  return FromEngine(values[0]);
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

unsigned char TF_TryEvaluateConstant(TF_Graph* graph, TF_Output output, TF_Tensor** result,
                                     TF_Status* status) {
  return EnterFor<unsigned char>(status, 0, [&]() -> StatusOr<unsigned char> {
    TFLEET_NOT_NULL(graph);
    TFLEET_NOT_NULL(result);
    *result = nullptr;
    TFLEET_ASSIGN_OR_RETURN(*result, Evaluate(graph, output));
    return static_cast<unsigned char>(*result != nullptr);
  });
}

}  // extern "C"
