// TF_NewWhile: a loop whose condition and body are built as graphs of their own, and are then
// copied into a dataflow loop of the graph.
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/capi/graph.h"
#include "runtime/client/control_flow.h"
#include "runtime/graph/attr.h"

namespace tensorfleet::capi {
namespace {

constexpr TF_WhileParams kNoLoop = {0,       nullptr, nullptr, {nullptr, 0},
                                    nullptr, nullptr, nullptr, nullptr};

// A placeholder for each loop variable.
StatusOr<std::vector<TF_Output>> AddInputs(TF_Graph* graph, const std::vector<Output>& variables,
                                           const char* prefix) {
  MutexLock lock(&graph->mu);
  std::vector<TF_Output> inputs;
  for (const Output& variable : variables) {
    tensorflow::NodeDef def;
    def.set_op("Placeholder");
    def.set_name(absl::StrCat(prefix, inputs.size()));
    SetAttr(&def, "dtype", variable.dtype());
    TFLEET_ASSIGN_OR_RETURN(Node * node, graph->scope.AddExactly(std::move(def), {}, {}));
    inputs.push_back({OperationOf(node), 0});
  }
  return inputs;
}

// Copies what `results` need of one graph into the place `at` of another.
class Copier {
 public:
  Copier(const Graph& from, const Scope& at) : from_(from), at_(at) {}

  void Replace(const Node* input, const Output& by) { copies_[input] = {by}; }

  StatusOr<Outputs> Copy(const std::vector<Output>& results) {
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(from_));
    const absl::flat_hash_set<const Node*> needed = Needed(results);
    for (const Node* node : order) {
      if (needed.contains(node)) TFLEET_RETURN_IF_ERROR(CopyNode(*node));
    }
    Outputs copied;
    for (const Output& result : results) {
      copied.push_back(copies_.at(result.node())[result.index()]);
    }
    return copied;
  }

 private:
  absl::flat_hash_set<const Node*> Needed(const std::vector<Output>& results) const {
    absl::flat_hash_set<const Node*> needed;
    std::vector<const Node*> todo;
    const auto visit = [&](const Node* node) {
      if (!copies_.contains(node) && needed.insert(node).second) todo.push_back(node);
    };
    for (const Output& result : results) visit(result.node());
    while (!todo.empty()) {
      const Node* node = todo.back();
      todo.pop_back();
      for (const Edge* edge : node->in_edges()) visit(edge->src);
    }
    return needed;
  }

  Status CopyNode(const Node& node) {
    std::vector<Output> inputs;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.in_edge(i);
      inputs.push_back(copies_.at(edge->src)[edge->src_output]);
    }
    std::vector<Operation> controls;
    for (const Edge* edge : node.in_edges()) {
      if (edge->is_control()) controls.push_back(copies_.at(edge->src)[0].op());
    }
    Node* copy = at_.Named(node.name())
                     .After(controls)
                     .AddOp(node.op(), inputs, [&](tensorflow::NodeDef* def) {
                       *def->mutable_attr() = node.def().attr();
                       def->mutable_attr()->erase("_class");  // names operations of the other graph
                       def->set_device(node.requested_device());
                     });
    TFLEET_RETURN_IF_ERROR(at_.status());
    Outputs outputs;
    for (int i = 0; i < std::max(1, copy->num_outputs()); ++i) outputs.push_back(Output(copy, i));
    copies_[&node] = std::move(outputs);
    return OkStatus();
  }

  const Graph& from_;
  const Scope at_;
  absl::flat_hash_map<const Node*, Outputs> copies_;
};

// One of the two graphs with what goes in and what comes out.
struct Part {
  const Graph* graph;
  std::vector<Output> inputs;
  std::vector<Output> outputs;

  Outputs CopyTo(const Scope& at, const Outputs& variables) const {
    Copier copier(*graph, at);
    for (size_t i = 0; i < inputs.size(); ++i) copier.Replace(inputs[i].node(), variables[i]);
    const StatusOr<Outputs> copied = copier.Copy(outputs);
    if (copied.ok()) return *copied;
    at.Fail(copied.status());
    return Outputs(outputs.size());
  }
};

StatusOr<Part> PartOf(TF_Graph* graph, const TF_Output* inputs, int ninputs,
                      const TF_Output* outputs, int noutputs) {
  MutexLock lock(&graph->mu);
  Part part = {&graph->scope.graph(), {}, {}};
  TFLEET_ASSIGN_OR_RETURN(part.inputs, OutputsIn(*graph, inputs, ninputs, "inputs"));
  TFLEET_ASSIGN_OR_RETURN(part.outputs, OutputsIn(*graph, outputs, noutputs, "outputs"));
  return part;
}

StatusOr<Outputs> BuildIn(const Scope& scope, const std::string& name, const Outputs& initial,
                          const Part& condition, const Part& body) {
  Outputs here;
  for (const Output& output : initial) {
    here.push_back(Output(scope.graph().FindNode(output.node()->name()), output.index()));
  }
  WhileOptions options;
  options.name = name;
  const Outputs last = WhileLoop(
      scope, here, {},
      [&](const Scope& at, const Outputs& variables, const Outputs&) {
        return condition.CopyTo(at, variables)[0];
      },
      [&](const Scope& at, const Outputs& variables, const Outputs&) {
        return body.CopyTo(at, variables);
      },
      options);
  TFLEET_RETURN_IF_ERROR(scope.status());
  return last;
}

Status CheckFilledIn(const TF_WhileParams& params) {
  TFLEET_RETURN_IF_ERROR(NotNull(params.cond_graph, "cond_graph"));
  TFLEET_RETURN_IF_ERROR(NotNull(params.body_graph, "body_graph"));
  if (params.name == nullptr) return InvalidArgument("TF_WhileParams `name` field is null");
  if (params.cond_output.oper == nullptr) {
    return InvalidArgument("TF_WhileParams `cond_output` field isn't set");
  }
  for (int i = 0; i < params.ninputs; ++i) {
    if (params.body_outputs[i].oper == nullptr) {
      return InvalidArgument("TF_WhileParams `body_outputs[", i, "]` field isn't set");
    }
  }
  return OkStatus();
}

Status Finish(const TF_WhileParams& params, TF_Output* outputs) {
  TFLEET_RETURN_IF_ERROR(CheckFilledIn(params));
  TFLEET_RETURN_IF_ERROR(CheckArray(outputs, params.ninputs, "outputs"));
  TFLEET_ASSIGN_OR_RETURN(const Part condition, PartOf(params.cond_graph, params.cond_inputs,
                                                       params.ninputs, &params.cond_output, 1));
  TFLEET_ASSIGN_OR_RETURN(const Part body,
                          PartOf(params.body_graph, params.body_inputs, params.ninputs,
                                 params.body_outputs, params.ninputs));
  TF_Graph* graph = params.cond_graph->loop_of;
  if (graph == nullptr) return InvalidArgument("TF_WhileParams were not made by TF_NewWhile");
  MutexLock lock(&graph->mu);
  TFLEET_ASSIGN_OR_RETURN(
      const Outputs initial,
      OutputsIn(*graph, params.cond_graph->loop_inputs.data(), params.ninputs, "inputs"));
  // First on a copy: what fails leaves its traces, and a scope's error stays.
  TFLEET_ASSIGN_OR_RETURN(const tensorflow::GraphDef def, graph->scope.ToGraphDef());
  const Scope copy;
  TFLEET_RETURN_IF_ERROR(copy.Import(def));
  TFLEET_RETURN_IF_ERROR(BuildIn(copy, params.name, initial, condition, body).status());
  TFLEET_ASSIGN_OR_RETURN(const Outputs last,
                          BuildIn(graph->scope, params.name, initial, condition, body));
  for (const Output& output : last) *outputs++ = OutputTo(output);
  return OkStatus();
}

void Free(const TF_WhileParams* params) {
  if (params == nullptr) return;
  TF_DeleteGraph(params->cond_graph);
  TF_DeleteGraph(params->body_graph);
  delete[] params->cond_inputs;
  delete[] params->body_inputs;
  delete[] params->body_outputs;
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_WhileParams TF_NewWhile(TF_Graph* g, TF_Output* inputs, int ninputs, TF_Status* status) {
  TF_Graph* graphs[2] = {nullptr, nullptr};
  TF_Output* places[3] = {nullptr, nullptr, nullptr};
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(g);
    if (ninputs <= 0) return InvalidArgument("a loop needs at least one input; got ", ninputs);
    std::vector<Output> variables;
    {
      MutexLock lock(&g->mu);
      TFLEET_ASSIGN_OR_RETURN(variables, OutputsIn(*g, inputs, ninputs, "inputs"));
    }
    std::unique_ptr<TF_Output[]> arrays[3];
    for (auto& array : arrays) array = std::make_unique<TF_Output[]>(ninputs);
    auto condition = std::make_unique<TF_Graph>(), body = std::make_unique<TF_Graph>();
    TFLEET_ASSIGN_OR_RETURN(const auto seen, AddInputs(condition.get(), variables, "cond_input"));
    TFLEET_ASSIGN_OR_RETURN(const auto taken, AddInputs(body.get(), variables, "body_input"));
    condition->loop_of = g;
    condition->loop_inputs.assign(inputs, inputs + ninputs);
    std::copy(seen.begin(), seen.end(), arrays[0].get());
    std::copy(taken.begin(), taken.end(), arrays[1].get());
    std::fill_n(arrays[2].get(), ninputs, TF_Output{nullptr, -1});
    graphs[0] = condition.release();
    graphs[1] = body.release();
    for (int i = 0; i < 3; ++i) places[i] = arrays[i].release();
    return OkStatus();
  });
  if (graphs[0] == nullptr) return kNoLoop;
  return {ninputs, graphs[0], places[0], {nullptr, -1}, graphs[1], places[1], places[2], nullptr};
}

void TF_FinishWhile(const TF_WhileParams* params, TF_Status* status, TF_Output* outputs) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(params);
    return Finish(*params, outputs);
  });
  Free(params);
}

void TF_AbortWhile(const TF_WhileParams* params) { Free(params); }

}  // extern "C"
