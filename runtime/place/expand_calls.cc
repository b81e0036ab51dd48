#include "runtime/place/expand_calls.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/graph/function_library.h"
#include "runtime/place/added_nodes.h"
#include "runtime/place/function_calls.h"
#include "runtime/place/insert_body.h"
#include "runtime/place/lower_control_flow.h"
#include "runtime/place/sweep.h"

namespace tensorfleet {
namespace {

// Calls of calls of calls may double at each level; past this many added nodes, calls stay calls.
constexpr int kMaxAddedNodes = 50'000;

// One call that may be expanded, and the functions in whose bodies it stands.
struct Call {
  Node* node = nullptr;
  std::shared_ptr<const std::vector<std::string>> within;
};

class CallExpander {
 public:
  CallExpander(Graph* graph, const RewriteContext& context)
      : graph_(graph), context_(context), max_nodes_(graph->num_nodes() + kMaxAddedNodes) {}

  Status Run() {
    const auto nowhere = std::make_shared<const std::vector<std::string>>();
    const std::vector<Node*> nodes = graph_->nodes();
    for (Node* node : nodes) {
      if (IsFunctionCall(*node, *graph_)) open_.push_back({node, nowhere});
    }
    if (open_.empty()) return OkStatus();
    DeadNodeSweep sweep(*graph_);
    for (Node* node : nodes) conditional_ |= node->IsControlFlow();
    while (!open_.empty()) {
      const Call call = std::move(open_.front());
      open_.pop_front();
      const std::string name = call.node->name();
      if (const Status status = Expand(call); !status.ok()) {
        return Prefixed(absl::StrCat("Function call {{node ", name, "}}: "), status);
      }
    }
    sweep.Run(graph_);
    return OkStatus();
  }

 private:
  Status Expand(const Call& call) {
    Node* node = call.node;
    TFLEET_ASSIGN_OR_RETURN(const std::vector<tensorflow::NameAttrList> functions,
                            FunctionsOf(*node));
    const bool plain = IsPartitionedCall(*node) || IsCallByName(*node, *graph_);
    if (graph_->num_nodes() > max_nodes_ || IsRecursive(functions, *call.within) ||
        !(plain ? MayInline(*node, functions[0].name()) : MayLower(*node))) {
      return Keep(node, functions[0]);
    }
    std::vector<FunctionBody> bodies;
    for (const tensorflow::NameAttrList& function : functions) {
      TFLEET_ASSIGN_OR_RETURN(
          FunctionBody body,
          InstantiateFunction(graph_->ops(), graph_->library(), function.name(), function.attr()));
      bodies.push_back(std::move(body));
    }
    if (!plain && !CanLower(*node, bodies)) return Keep(node, functions[0]);

    TFLEET_RETURN_IF_ERROR(TieInvariants(node));
    std::vector<std::string> within = *call.within;
    for (const tensorflow::NameAttrList& function : functions) within.push_back(function.name());
    std::vector<Node*> calls;
    if (plain) {
      TFLEET_ASSIGN_OR_RETURN(calls, Inline(node, bodies[0]));
    } else {
      conditional_ = true;
      TFLEET_ASSIGN_OR_RETURN(calls, IsWhile(*node) ? LowerWhile(node, bodies, graph_)
                                     : IsIf(*node)  ? LowerIf(node, bodies, graph_)
                                                    : LowerCase(node, bodies, graph_));
    }
    const auto shared = std::make_shared<const std::vector<std::string>>(std::move(within));
    for (Node* inner : calls) open_.push_back({inner, shared});
    return OkStatus();
  }

  // The functions that a call names, in the order in which they are used. Errors: NotFound.
  StatusOr<std::vector<tensorflow::NameAttrList>> FunctionsOf(const Node& node) const {
    std::vector<tensorflow::NameAttrList> functions;
    if (IsCallByName(node, *graph_)) {
      tensorflow::NameAttrList& function = functions.emplace_back();
      function.set_name(node.op());
      *function.mutable_attr() = node.def().attr();
    } else if (IsCase(node)) {
      TFLEET_ASSIGN_OR_RETURN(
          functions, GetAttr<std::vector<tensorflow::NameAttrList>>(node.def(), "branches"));
      if (functions.empty()) return InvalidArgument("a Case needs at least one branch");
    } else {
      std::vector<const char*> attrs = {"f"};
      if (IsIf(node)) attrs = {"then_branch", "else_branch"};
      if (IsWhile(node)) attrs = {"cond", "body"};
      for (const char* attr : attrs) {
        TFLEET_ASSIGN_OR_RETURN(tensorflow::NameAttrList function,
                                GetAttr<tensorflow::NameAttrList>(node.def(), attr));
        functions.push_back(std::move(function));
      }
    }
    for (const tensorflow::NameAttrList& function : functions) {
      if (graph_->library() == nullptr || graph_->library()->Find(function.name()) == nullptr) {
        return NotFound("Function ", function.name(), " is not defined.");
      }
    }
    return functions;
  }

  static bool IsRecursive(const std::vector<tensorflow::NameAttrList>& functions,
                          const std::vector<std::string>& within) {
    return std::any_of(functions.begin(), functions.end(), [&](const auto& function) {
      return std::find(within.begin(), within.end(), function.name()) != within.end();
    });
  }

  bool MayInline(const Node& node, const std::string& function) const {
    const tensorflow::FunctionDef* def = graph_->library()->Find(function);
    const auto noinline_attr = def->attr().find("_noinline");
    const bool forbidden = noinline_attr != def->attr().end() && noinline_attr->second.b();
    // A call runs on one device: a body that names devices has to be taken apart.
    return MentionsDevice(*def) || (context_.options.inline_functions && !forbidden);
  }

  bool MayLower(const Node& node) const {
    const StatusOr<bool> asked = GetAttrOr<bool>(node.def(), "_lower_using_switch_merge", false);
    return context_.options.lower_control_flow && asked.ok() && *asked;
  }

  static bool MentionsDevice(const tensorflow::FunctionDef& def) {
    return std::any_of(def.node_def().begin(), def.node_def().end(),
                       [](const tensorflow::NodeDef& node) { return !node.device().empty(); });
  }

  // Leaves the call as a call. One by name has no kernel: it becomes a PartitionedCall.
  Status Keep(Node* node, const tensorflow::NameAttrList& function) {
    if (!IsCallByName(*node, *graph_)) {
      node->set_assigned_device("");
      return OkStatus();
    }
    AddedNodes added(*node, graph_);
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Endpoint> inputs, DataInputs(*node));
    const bool stateful = node->schema().is_stateful;
    TFLEET_ASSIGN_OR_RETURN(
        Node * call, added.Add("call", stateful ? "StatefulPartitionedCall" : "PartitionedCall",
                               inputs, [&](tensorflow::NodeDef* def) {
                                 def->mutable_attr()->erase("T");
                                 SetAttr(def, "f", function);
                                 SetAttr(def, "Tin", absl::MakeConstSpan(node->input_types()));
                                 SetAttr(def, "Tout", absl::MakeConstSpan(node->output_types()));
                               }));
    for (Node* earlier : ControlInputs(*node)) graph_->AddControlEdge(earlier, call);
    for (int i = 0; i < node->num_outputs(); ++i) {
      TFLEET_RETURN_IF_ERROR(MoveOutput({node, i}, {call, i}, graph_));
    }
    MoveControlOutputs(node, call, graph_);
    graph_->RemoveNode(node);
    return OkStatus();
  }

  // A call is dead where one of its arguments is. In the last iteration of a loop around it the
  // loop's invariants are still alive: they are held back, so that what takes only them in the body
  // does not run where the call would not.
  Status TieInvariants(Node* node) {
    if (!ControlInputs(*node).empty()) return OkStatus();  // dead with them, as all of the body
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Endpoint> inputs, DataInputs(*node));
    const auto is_invariant = [](const Endpoint& input) {
      return input.node->IsEnter() &&
             GetAttrOr<bool>(input.node->def(), "is_constant", false).value_or(false);
    };
    const auto invariants = std::count_if(inputs.begin(), inputs.end(), is_invariant);
    if (invariants == 0 || invariants == static_cast<int64_t>(inputs.size())) return OkStatus();
    AddedNodes added(*node, graph_);
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
      graph_->AddControlEdge(start, tied);
      TFLEET_RETURN_IF_ERROR(graph_->ReplaceInput(node, static_cast<int>(i), tied, 0));
    }
    return OkStatus();
  }

  StatusOr<std::vector<Node*>> Inline(Node* node, const FunctionBody& body) {
    if (static_cast<int>(body.returns.size()) != node->num_outputs()) {
      return InvalidArgument("the call has ", node->num_outputs(),
                             " outputs but the function returns ", body.returns.size());
    }
    AddedNodes added(*node, graph_);
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
      if (start != nullptr) graph_->AddControlEdge(start, passed);
      arg = {passed, 0};
    }
    site.starter = [&]() -> StatusOr<Node*> {
      // In a branch or a loop the body must not run where the call would not.
      if (start != nullptr || !conditional_ || site.args.empty()) return start;
      std::vector<Node*> alive;
      for (size_t i = 0; i < site.args.size(); ++i) {
        TFLEET_ASSIGN_OR_RETURN(Node * seen,
                                added.Identity(absl::StrCat("alive_", i), site.args[i]));
        alive.push_back(seen);
      }
      return added.After("start", alive);
    };
    TFLEET_ASSIGN_OR_RETURN(InsertedBody inserted, InsertBody(body, site, graph_));
    TFLEET_RETURN_IF_ERROR(MoveControls(node, inserted, start, &added));
    for (int i = 0; i < node->num_outputs(); ++i) {
      TFLEET_RETURN_IF_ERROR(MoveOutput({node, i}, inserted.returns[i], graph_));
    }
    graph_->RemoveNode(node);
    return std::move(inserted.calls);
  }

  // What waits for the call waits for its results and its side effects.
  Status MoveControls(Node* node, const InsertedBody& inserted, Node* start, AddedNodes* added) {
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
    MoveControlOutputs(node, done, graph_);
    return OkStatus();
  }

  Graph* const graph_;
  const RewriteContext& context_;
  const int max_nodes_;
  std::deque<Call> open_;
  bool conditional_ = false;  // whether some nodes may not run in a step
};

}  // namespace

Status ExpandCalls(Graph* graph, const RewriteContext& context) {
  return CallExpander(graph, context).Run();
}

}  // namespace tensorfleet
