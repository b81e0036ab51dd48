#include "runtime/place/expand/expand_call.h"

#include <algorithm>

#include "runtime/place/expand/added_nodes.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/expand/insert_body.h"
#include "runtime/place/expand/lower_control_flow.h"

namespace tensorfleet {
namespace {

// A call is dead where one of its arguments is. In the last iteration of a loop around it the
// loop's invariants are still alive: they are held back, so that what takes only them in the body
// does not run where the call would not.
Status TieInvariants(Node* node, Graph* graph) {
  if (!ControlInputs(*node).empty()) return OkStatus();  // dead with them, as all of the body
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Endpoint> inputs, DataInputs(*node));
  const auto is_invariant = [](const Endpoint& input) {
    return input.node->IsEnter() &&
           GetAttrOr<bool>(input.node->def(), "is_constant", false).value_or(false);
  };
  const auto invariants = std::count_if(inputs.begin(), inputs.end(), is_invariant);
  if (invariants == 0 || invariants == static_cast<int64_t>(inputs.size())) return OkStatus();
  AddedNodes added(*node, graph);
  std::vector<Node*> alive;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_invariant(inputs[i])) continue;
    TFLEET_ASSIGN_OR_RETURN(Node * seen, added.Identity(absl::StrCat("alive_", i), inputs[i]));
    alive.push_back(seen);
  }
  TFLEET_ASSIGN_OR_RETURN(Node * start, added.After("alive", alive));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_invariant(inputs[i])) continue;
    TFLEET_ASSIGN_OR_RETURN(Node * tied, added.Identity(absl::StrCat("tied_", i), inputs[i]));
    graph->AddControlEdge(start, tied);
    TFLEET_RETURN_IF_ERROR(graph->ReplaceInput(node, static_cast<int>(i), tied, 0));
  }
  return OkStatus();
}

// What waits for the call waits for its results and its side effects.
Status MoveControls(Node* node, const InsertedBody& inserted, Node* start, AddedNodes* added,
                    Graph* graph) {
  const bool waited_for = std::any_of(node->out_edges().begin(), node->out_edges().end(),
                                      [](const Edge* edge) { return edge->is_control(); });
  if (!waited_for) return OkStatus();
  std::vector<Node*> parts = inserted.side_effects;
  if (start != nullptr) parts.push_back(start);
  for (size_t i = 0; i < inserted.returns.size(); ++i) {
    const Endpoint& value = inserted.returns[i];
    if (!value.node->IsSwitch()) {
      parts.push_back(value.node);
      continue;
    }
    TFLEET_ASSIGN_OR_RETURN(Node * seen, added->Identity(absl::StrCat("result_", i), value));
    parts.push_back(seen);
  }
  TFLEET_ASSIGN_OR_RETURN(Node * done, added->After("done", parts));
  MoveControlOutputs(node, done, graph);
  return OkStatus();
}

StatusOr<std::vector<Node*>> Inline(Node* node, const FunctionBody& body, bool conditional,
                                    Graph* graph) {
  if (static_cast<int>(body.returns.size()) != node->num_outputs()) {
    return InvalidArgument("the call has ", node->num_outputs(),
                           " outputs but the function returns ", body.returns.size());
  }
  AddedNodes added(*node, graph);
  BodySite site;
  site.prefix = absl::StrCat(node->name(), "/");
  site.device = added.device();
  TFLEET_ASSIGN_OR_RETURN(site.args, DataInputs(*node));
  const std::vector<Node*> waits_for = ControlInputs(*node);
  Node* start = nullptr;
  if (!waits_for.empty()) {
    TFLEET_ASSIGN_OR_RETURN(start, added.After("start", waits_for));
  }
  for (size_t i = 0; i < site.args.size(); ++i) {
    Endpoint& arg = site.args[i];
    // A reference is read once, when the call starts; an argument in hand must not let the body
    // start early.
    if (start == nullptr && !IsRef(arg.node->output_type(arg.index))) continue;
    TFLEET_ASSIGN_OR_RETURN(Node * passed, added.Identity(absl::StrCat("arg_", i), arg));
    if (start != nullptr) graph->AddControlEdge(start, passed);
    arg = {passed, 0};
  }
  site.starter = [&]() -> StatusOr<Node*> {
    // In a branch or a loop the body must not run where the call would not.
    if (start != nullptr || !conditional || site.args.empty()) return start;
    std::vector<Node*> alive;
    for (size_t i = 0; i < site.args.size(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(Node * seen, added.Identity(absl::StrCat("alive_", i), site.args[i]));
      alive.push_back(seen);
    }
    return added.After("start", alive);
  };
  TFLEET_ASSIGN_OR_RETURN(InsertedBody inserted, InsertBody(body, site, graph));
  TFLEET_RETURN_IF_ERROR(MoveControls(node, inserted, start, &added, graph));
  for (int i = 0; i < node->num_outputs(); ++i) {
    TFLEET_RETURN_IF_ERROR(MoveOutput({node, i}, inserted.returns[i], graph));
  }
  graph->RemoveNode(node);
  return std::move(inserted.calls);
}

}  // namespace

bool IsPlainCall(const Node& call, const Graph& graph) {
  return IsPartitionedCall(call) || IsCallByName(call, graph);
}

StatusOr<std::vector<tensorflow::NameAttrList>> FunctionsOf(const Node& call, const Graph& graph) {
  std::vector<tensorflow::NameAttrList> functions;
  if (IsCallByName(call, graph)) {
    tensorflow::NameAttrList& function = functions.emplace_back();
    function.set_name(call.op());
    *function.mutable_attr() = call.def().attr();
  } else if (IsCase(call)) {
    TFLEET_ASSIGN_OR_RETURN(functions,
                            GetAttr<std::vector<tensorflow::NameAttrList>>(call.def(), "branches"));
    if (functions.empty()) return InvalidArgument("a Case needs at least one branch");
  } else {
    std::vector<const char*> attrs = {"f"};
    if (IsIf(call)) attrs = {"then_branch", "else_branch"};
    if (IsWhile(call)) attrs = {"cond", "body"};
    for (const char* attr : attrs) {
      TFLEET_ASSIGN_OR_RETURN(tensorflow::NameAttrList function,
                              GetAttr<tensorflow::NameAttrList>(call.def(), attr));
      functions.push_back(std::move(function));
    }
  }
  for (const tensorflow::NameAttrList& function : functions) {
    if (graph.library() == nullptr || graph.library()->Find(function.name()) == nullptr) {
      return NotFound("Function ", function.name(), " is not defined.");
    }
  }
  return functions;
}

StatusOr<std::vector<FunctionBody>> BodiesOf(absl::Span<const tensorflow::NameAttrList> functions,
                                             const Graph& graph) {
  std::vector<FunctionBody> bodies;
  for (const tensorflow::NameAttrList& function : functions) {
    TFLEET_ASSIGN_OR_RETURN(
        FunctionBody body,
        InstantiateFunction(graph.ops(), graph.library(), function.name(), function.attr()));
    bodies.push_back(std::move(body));
  }
  return bodies;
}

StatusOr<std::vector<Node*>> ExpandCall(Node* call, const std::vector<FunctionBody>& bodies,
                                        bool conditional, Graph* graph) {
  TFLEET_RETURN_IF_ERROR(TieInvariants(call, graph));
  if (IsWhile(*call)) return LowerWhile(call, bodies, graph);
  if (IsIf(*call)) return LowerIf(call, bodies, graph);
  if (IsCase(*call)) return LowerCase(call, bodies, graph);
  return Inline(call, bodies[0], conditional, graph);
}

}  // namespace tensorfleet
