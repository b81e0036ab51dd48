// TF_AddGradients: the C++ client's symbolic gradients.
#include "runtime/client/gradients.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "runtime/capi/graph.h"

namespace tensorfleet::capi {
namespace {

// Whether the output is worked out of one of the xs, other than through a StopGradient.
bool DependsOn(const Output& output, const std::vector<Output>& xs) {
  absl::flat_hash_set<const Node*> seen = {output.node()};
  std::vector<const Node*> todo = {output.node()};
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    for (const Output& x : xs) {
      if (x.node() == node) return true;
    }
    if (node->op() == "StopGradient") continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Edge* edge = node->in_edge(i);
      if (edge != nullptr && seen.insert(edge->src).second) todo.push_back(edge->src);
    }
  }
  return false;
}

struct Request {
  std::string name;
  std::vector<Output> ys, xs;
  std::vector<Gradient> grad_ys;
};

// Adds the gradients in `scope`, by names, since it may be another graph than that of the request.
StatusOr<std::vector<Output>> AddTo(const Scope& scope, const Request& request) {
  const auto here = [&](const Output& output) -> Output {
    return Output(scope.graph().FindNode(output.node()->name()), output.index());
  };
  std::vector<Output> ys, xs;
  std::vector<Gradient> grad_ys;
  for (size_t i = 0; i < request.ys.size(); ++i) {
    // As in TensorFlow, an integer or a string is only wrong where something would flow back from
    // it.
    const DType type = request.ys[i].dtype();
    if (!IsFloating(type) && !IsComplex(type) && !DependsOn(request.ys[i], request.xs)) continue;
    ys.push_back(here(request.ys[i]));
    if (!request.grad_ys.empty()) grad_ys.push_back(here(request.grad_ys[i].dense()));
  }
  for (const Output& x : request.xs) xs.push_back(here(x));
  GradientOptions options;
  options.name = request.name;
  const std::vector<Gradient> gradients = AddSymbolicGradients(scope, ys, xs, grad_ys, options);
  std::vector<Output> results;
  const Scope below = scope.SubScope(absl::StrCat(request.name, "/dense"));
  for (const Gradient& gradient : gradients) {
    results.push_back(gradient.is_absent() ? Output() : ToDense(below, gradient));
  }
  TFLEET_RETURN_IF_ERROR(scope.status());
  return results;
}

Status AddGradients(TF_Graph* graph, const char* prefix, TF_Output* y, int ny, TF_Output* x, int nx,
                    TF_Output* dx, TF_Output* dy) {
  TFLEET_RETURN_IF_ERROR(NotNull(graph, "g"));
  TFLEET_RETURN_IF_ERROR(CheckArray(dy, nx, "dy"));
  MutexLock lock(&graph->mu);
  Request request;
  TFLEET_ASSIGN_OR_RETURN(request.ys, OutputsIn(*graph, y, ny, "y"));
  TFLEET_ASSIGN_OR_RETURN(request.xs, OutputsIn(*graph, x, nx, "x"));
  if (dx != nullptr) {
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Output> given, OutputsIn(*graph, dx, ny, "dx"));
    request.grad_ys.assign(given.begin(), given.end());
  }
  request.name = prefix == nullptr ? "gradients" : prefix;
  if (prefix != nullptr) {
    const std::string below = absl::StrCat(prefix, "/");
    for (const Node* node : graph->scope.graph().nodes()) {
      if (node->name() == prefix || absl::StartsWith(node->name(), below)) {
        return InvalidArgument("prefix [", prefix,
                               "] conflicts with existing node in the graph named [", node->name(),
                               "]");
      }
    }
  }
  // First on a copy: a gradient that is missing leaves its traces, and a scope's error stays.
  TFLEET_ASSIGN_OR_RETURN(const tensorflow::GraphDef def, graph->scope.ToGraphDef());
  const Scope copy;
  TFLEET_RETURN_IF_ERROR(copy.Import(def));
  TFLEET_RETURN_IF_ERROR(AddTo(copy, request).status());
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Output> results, AddTo(graph->scope, request));
  for (int i = 0; i < nx; ++i) {
    dy[i] = results[i].is_valid() ? OutputTo(results[i]) : TF_Output{nullptr, -1};
  }
  return OkStatus();
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet::capi;  // NOLINT: the functions of C are outside of it

extern "C" {

void TF_AddGradients(TF_Graph* g, TF_Output* y, int ny, TF_Output* x, int nx, TF_Output* dx,
                     TF_Status* status, TF_Output* dy) {
  TF_AddGradientsWithPrefix(g, nullptr, y, ny, x, nx, dx, status, dy);
}

void TF_AddGradientsWithPrefix(TF_Graph* g, const char* prefix, TF_Output* y, int ny, TF_Output* x,
                               int nx, TF_Output* dx, TF_Status* status, TF_Output* dy) {
  Enter(status, [&] { return AddGradients(g, prefix, y, ny, x, nx, dx, dy); });
}

}  // extern "C"
