#include "runtime/place/expand/expand_calls.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "runtime/place/expand/added_nodes.h"
#include "runtime/place/expand/compiled_calls.h"
#include "runtime/place/expand/expand_call.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/expand/lower_control_flow.h"
#include "runtime/place/passes/sweep.h"

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
                            FunctionsOf(*node, *graph_));
    const bool plain = IsPlainCall(*node, *graph_);
    if (const std::string whole = plain ? "" : AcceleratorFor(*node, *graph_, context_);
        !whole.empty()) {
      node->set_assigned_device(whole);
      return OkStatus();
    }
    if (graph_->num_nodes() > max_nodes_ || IsRecursive(functions, *call.within) ||
        !(plain ? MayInline(*node, functions[0].name()) : MayLower(*node))) {
      return Keep(node, functions[0]);
    }
    TFLEET_ASSIGN_OR_RETURN(const std::vector<FunctionBody> bodies, BodiesOf(functions, *graph_));
    if (!plain && !CanLower(*node, bodies)) return Keep(node, functions[0]);

    std::vector<std::string> within = *call.within;
    for (const tensorflow::NameAttrList& function : functions) within.push_back(function.name());
    conditional_ |= !plain;
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> calls,
                            ExpandCall(node, bodies, conditional_, graph_));
    const auto shared = std::make_shared<const std::vector<std::string>>(std::move(within));
    for (Node* inner : calls) open_.push_back({inner, shared});
    return OkStatus();
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
    if (context_.options.lower_all_control_flow) return true;
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
