#include "runtime/client/gradients/calls.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "runtime/client/gradients/builder.h"
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/ops.h"
#include "runtime/place/expand/expand_call.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/expand/lower_control_flow.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// Calls of calls of calls may double at each level.
constexpr int kMaxAddedNodes = 200'000;

// Whether the function's body, or one that it calls, calls it again.
bool CallsItself(const FunctionLibrary& library, const std::string& name) {
  absl::flat_hash_set<std::string> seen;
  std::vector<std::string> open = {name};
  while (!open.empty()) {
    const tensorflow::FunctionDef* function = library.Find(open.back());
    open.pop_back();
    if (function == nullptr) continue;
    for (const tensorflow::NodeDef& node : function->node_def()) {
      for (const std::string& called : FunctionsNamedBy(node)) {
        if (called == name) return true;
        if (seen.insert(called).second) open.push_back(called);
      }
    }
  }
  return false;
}

class CallExpander {
 public:
  CallExpander(const Scope& scope, const GradientRegistry& registry)
      : scope_(scope),
        registry_(registry),
        max_nodes_(scope.graph().num_nodes() + kMaxAddedNodes) {}

  Status Run(absl::Span<const Output> ys, absl::Span<const Output> xs) {
    for (;;) {
      const std::vector<Node*> calls = CallsBetween(ys, xs);
      if (calls.empty()) return OkStatus();
      for (Node* call : calls) {
        const Status status = scope_.Edit([&](Graph* graph) { return Expand(call, graph); });
        if (!status.ok()) return WithNode(status, call->name());
      }
    }
  }

 private:
  bool IsOpen(const Node& node) const {
    const Graph& graph = scope_.graph();
    if (!IsFunctionCall(node, graph) || !GivenGradientOf(node, graph).empty()) return false;
    const GradientRegistry::Entry* entry = registry_.Find(node.op());
    return entry == nullptr || entry->missing.empty();
  }

  // From the xs forward, then of those the ones from the ys backward.
  std::vector<Node*> CallsBetween(absl::Span<const Output> ys, absl::Span<const Output> xs) const {
    const Graph& graph = scope_.graph();
    std::vector<bool> reached(graph.num_node_ids(), false), seen(graph.num_node_ids(), false);
    std::vector<Node*> todo, calls;
    const auto follow = [&](const Edge* edge) {
      if (edge->is_control() || reached[edge->dst->id()]) return;
      if (!CarriesGradient(edge->src->output_type(edge->src_output))) return;
      reached[edge->dst->id()] = true;
      todo.push_back(edge->dst);
    };
    for (const Output& given : xs) {
      const Output x = scope_.Current(given);
      for (const Edge* edge : x.node()->out_edges()) {
        if (edge->src_output == x.index()) follow(edge);
      }
    }
    while (!todo.empty()) {
      const Node* node = todo.back();
      todo.pop_back();
      for (const Edge* edge : node->out_edges()) follow(edge);
    }
    const auto add = [&](Node* node) {
      if (!reached[node->id()] || seen[node->id()]) return;
      seen[node->id()] = true;
      todo.push_back(node);
      if (IsOpen(*node)) calls.push_back(node);
    };
    for (const Output& y : ys) add(scope_.Current(y).node());
    while (!todo.empty()) {
      const Node* node = todo.back();
      todo.pop_back();
      for (const Edge* edge : node->in_edges()) {
        if (edge->is_control()) continue;
        if (CarriesGradient(edge->src->output_type(edge->src_output))) add(edge->src);
      }
    }
    return calls;
  }

  Status Expand(Node* call, Graph* graph) {
    TFLEET_ASSIGN_OR_RETURN(const std::vector<tensorflow::NameAttrList> functions,
                            FunctionsOf(*call, *graph));
    for (const tensorflow::NameAttrList& function : functions) {
      if (CallsItself(*graph->library(), function.name())) {
        return Unimplemented("the function ", function.name(), " calls itself; such calls are not ",
                             "differentiated, write it as a While");
      }
    }
    if (graph->num_nodes() > max_nodes_) {
      return Unimplemented("the functions that are called here have more than ", kMaxAddedNodes,
                           " nodes together, too many to be differentiated");
    }
    TFLEET_ASSIGN_OR_RETURN(const std::vector<FunctionBody> bodies, BodiesOf(functions, *graph));
    const bool plain = IsPlainCall(*call, *graph);
    if (!plain && !CanLower(*call, bodies)) {
      return Unimplemented(call->op(),
                           " is differentiated only where what it decides by is a bool,",
                           " and a Case only where it has several branches");
    }
    TFLEET_ASSIGN_OR_RETURN(Node * twin, Twin(*call, graph));
    TFLEET_ASSIGN_OR_RETURN(Node * results, Results(*call, twin, graph));
    TFLEET_RETURN_IF_ERROR(scope_.Replace(call, results));
    const std::vector<Node*> nodes = graph->nodes();
    const bool conditional =
        std::any_of(nodes.begin(), nodes.end(), [](const Node* n) { return n->IsControlFlow(); });
    return ExpandCall(twin, bodies, conditional, graph).status();
  }

  // The call once more, under another name: the one that is taken apart.
  static StatusOr<Node*> Twin(const Node& call, Graph* graph) {
    tensorflow::NodeDef def = call.def();
    def.clear_input();
    def.set_name(graph->UniqueName(absl::StrCat(call.name(), "/body")));
    TFLEET_ASSIGN_OR_RETURN(Node * twin, graph->AddNode(std::move(def)));
    for (const Edge* edge : call.in_edges()) {
      if (edge->is_control()) {
        graph->AddControlEdge(edge->src, twin);
      } else {
        TFLEET_RETURN_IF_ERROR(
            graph->AddEdge(edge->src, edge->src_output, twin, edge->dst_input).status());
      }
    }
    return twin;
  }

  // What gives out the results in the call's place; like the call, when all is done.
  static StatusOr<Node*> Results(const Node& call, Node* twin, Graph* graph) {
    tensorflow::NodeDef def = NewNodeDef(graph->UniqueName(absl::StrCat(call.name(), "/results")),
                                         "IdentityN", call.requested_device());
    SetAttr(&def, "T", absl::MakeConstSpan(call.output_types()));
    TFLEET_ASSIGN_OR_RETURN(Node * results, graph->AddNode(std::move(def)));
    for (int i = 0; i < call.num_outputs(); ++i) {
      TFLEET_RETURN_IF_ERROR(graph->AddEdge(twin, i, results, i).status());
    }
    graph->AddControlEdge(twin, results);
    return results;
  }

  const Scope& scope_;
  const GradientRegistry& registry_;
  const int max_nodes_;
};

// Of the node that gives out a call's results. What the call does to state is done before what
// comes back is looked at, as if forward and back were calls. A loop that goes back begins when the
// other one has ended anyway.
void BackIntoCall(C& c) {
  if (c.scope().ReplacedBy(&c.node()) == nullptr) {
    c.scope().Fail(Internal("the call '", c.node().name(), "' was not replaced by its body"));
    return;
  }
  std::vector<Operation> forward;
  if (!c.IsInLoop() && c.scope().ReplacedBy(&c.node())->schema().is_stateful) {
    for (int i = 0; i < c.num_outputs() && forward.empty(); ++i) {
      if (c.has_gradient(i)) forward.push_back(c.y(i).output().op());
    }
  }
  const Scope after = c.scope().After(forward);
  for (int i = 0; i < c.num_inputs(); ++i) {
    Gradient gradient = c.gradient(i);
    if (!forward.empty() && !gradient.is_absent() && !gradient.is_sparse()) {
      gradient = ops::Identity(after, gradient.dense());
    }
    c.Set(i, gradient);
  }
}

}  // namespace

Status ExpandCallsBetween(const Scope& scope, absl::Span<const Output> ys,
                          absl::Span<const Output> xs, const GradientRegistry& registry) {
  return CallExpander(scope, registry).Run(ys, xs);
}

std::string GivenGradientOf(const Node& node, const Graph& graph) {
  if (graph.library() == nullptr || !IsPlainCall(node, graph)) return "";
  if (IsCallByName(node, graph)) return graph.library()->Gradient(node.op());
  const auto function = GetAttr<tensorflow::NameAttrList>(node.def(), "f");
  return function.ok() ? graph.library()->Gradient(function->name()) : "";
}

void CallGivenGradient(GradientContext& c, const std::string& function) {
  const Node& node = c.node();
  std::vector<Output> arguments;
  for (int i = 0; i < c.num_inputs(); ++i) arguments.push_back(c.x(i));
  for (int i = 0; i < c.num_outputs(); ++i) arguments.push_back(c.g(i));
  tensorflow::NameAttrList called;
  called.set_name(function);
  const tensorflow::NameAttrList same =
      GetAttrOr<tensorflow::NameAttrList>(node.def(), "f", called).value_or(called);
  *called.mutable_attr() = same.attr();
  const std::vector<Output> gradients =
      ops::StatefulPartitionedCall(c.scope(), arguments, node.input_types(), called);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (CarriesGradient(node.input_type(static_cast<int>(i)))) {
      c.Set(static_cast<int>(i), gradients[i]);
    }
  }
}

void RegisterCallGradients(GradientRegistry& registry) {
  for (const char* op : {"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "While",
                         "StatelessWhile", "Case", "StatelessCase"}) {
    registry.Add(op, BackIntoCall);
  }
}

}  // namespace tensorfleet
