// While: each loop variable goes round through Enter, Merge, Switch, the body and NextIteration,
// and leaves through Exit. A variable that the body hands on unchanged is entered once and read in
// every iteration.
#include <utility>

#include "runtime/place/expand/added_nodes.h"
#include "runtime/place/expand/insert_body.h"
#include "runtime/place/expand/lower_control_flow.h"

namespace tensorfleet {
namespace {

struct LoopVariable {
  Endpoint input;
  bool invariant = false;
  Node* enter = nullptr;
  // Null for an invariant:
  Node* merge = nullptr;
  Node* choice = nullptr;  // Switch
  Node* next = nullptr;
  Node* exit = nullptr;
};

class WhileLowering {
 public:
  WhileLowering(Node* node, const std::vector<FunctionBody>& bodies, Graph* graph)
      : node_(node), cond_(bodies[0]), body_(bodies[1]), graph_(graph), added_(*node, graph) {}

  StatusOr<std::vector<Node*>> Run() {
    TFLEET_RETURN_IF_ERROR(AddEnters());
    TFLEET_RETURN_IF_ERROR(AddCondition());
    TFLEET_RETURN_IF_ERROR(AddBody());
    TFLEET_RETURN_IF_ERROR(MoveResults());
    graph_->RemoveNode(node_);
    return std::move(calls_);
  }

 private:
  // Whether the body returns argument `i` in the same place.
  bool IsInvariant(size_t i) const {
    return i < body_.returns.size() && InputOf(*body_.returns[i], 0).node == body_.args[i];
  }

  Status AddEnters() {
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Endpoint> inputs, DataInputs(*node_));
    if (body_.args.size() != inputs.size() || body_.returns.size() != inputs.size()) {
      return InvalidArgument("loop '", node_->name(), "' has ", inputs.size(),
                             " variables but its body takes ", body_.args.size(), " and returns ",
                             body_.returns.size());
    }
    TFLEET_ASSIGN_OR_RETURN(const int64_t parallel,
                            GetAttrOr<int64_t>(node_->def(), "parallel_iterations", 10));
    std::vector<Node*> waits_for = ControlInputs(*node_);
    if (waits_for.size() > 1) {
      TFLEET_ASSIGN_OR_RETURN(Node * start, added_.After("start", waits_for));
      waits_for = {start};
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      LoopVariable variable;
      variable.input = inputs[i];
      variable.invariant = IsInvariant(i);
      variables_.push_back(variable);
    }
    // Something has to go round.
    bool none_varies = true;
    for (const LoopVariable& variable : variables_) none_varies &= variable.invariant;
    if (none_varies) variables_[0].invariant = false;

    for (size_t i = 0; i < variables_.size(); ++i) {
      LoopVariable& variable = variables_[i];
      TFLEET_ASSIGN_OR_RETURN(
          variable.enter,
          added_.Add(absl::StrCat("enter_", i), "Enter", {variable.input}, [&](auto* def) {
            SetAttr(def, "frame_name", added_.call_name());
            SetAttr(def, "is_constant", variable.invariant);
            SetAttr(def, "parallel_iterations", parallel);
          }));
      for (Node* earlier : waits_for) graph_->AddControlEdge(earlier, variable.enter);
      if (variable.invariant) continue;
      TFLEET_ASSIGN_OR_RETURN(variable.merge,
                              added_.Add(absl::StrCat("merge_", i), "Merge", {{variable.enter, 0}},
                                         [](auto* def) { SetAttr(def, "N", 2); }));
    }
    return OkStatus();
  }

  const LoopVariable& FirstVarying() const {
    for (const LoopVariable& variable : variables_) {
      if (!variable.invariant) return variable;
    }
    return variables_[0];  // does not happen
  }

  BodySite Site(const char* name, Node* pivot) const {
    BodySite site;
    site.prefix = added_.prefix(name);
    site.device = added_.device();
    for (const LoopVariable& variable : variables_) {
      site.always_alive.push_back(variable.invariant);
    }
    site.starter = [pivot]() -> StatusOr<Node*> { return pivot; };
    return site;
  }

  // An invariant that is returned as it is would be there in every iteration: ties it to this one.
  StatusOr<Endpoint> Tied(Endpoint value, const std::string& name, Node* pivot) {
    if (!value.node->IsEnter()) return value;
    TFLEET_ASSIGN_OR_RETURN(Node * tied, added_.Identity(name, value));
    graph_->AddControlEdge(pivot, tied);
    return Endpoint{tied, 0};
  }

  StatusOr<InsertedBody> Insert(const FunctionBody& function, const BodySite& site) {
    TFLEET_ASSIGN_OR_RETURN(InsertedBody inserted, InsertBody(function, site, graph_));
    calls_.insert(calls_.end(), inserted.calls.begin(), inserted.calls.end());
    return inserted;
  }

  Status AddCondition() {
    Node* pivot = FirstVarying().merge;
    BodySite site = Site("cond", pivot);
    for (const LoopVariable& variable : variables_) {
      site.args.push_back({variable.invariant ? variable.enter : variable.merge, 0});
    }
    TFLEET_ASSIGN_OR_RETURN(const InsertedBody inserted, Insert(cond_, site));
    TFLEET_ASSIGN_OR_RETURN(const Endpoint goes_on,
                            Tied(inserted.returns[0], "cond/result", pivot));
    TFLEET_ASSIGN_OR_RETURN(Node * loop_cond, added_.Add("loop_cond", "LoopCond", {goes_on}));
    for (Node* effect : inserted.side_effects) graph_->AddControlEdge(effect, loop_cond);
    for (size_t i = 0; i < variables_.size(); ++i) {
      LoopVariable& variable = variables_[i];
      if (variable.invariant) continue;
      TFLEET_ASSIGN_OR_RETURN(variable.choice, added_.Add(absl::StrCat("switch_", i), "Switch",
                                                          {{variable.merge, 0}, {loop_cond, 0}}));
      TFLEET_ASSIGN_OR_RETURN(variable.exit,
                              added_.Add(absl::StrCat("exit_", i), "Exit", {{variable.choice, 0}}));
    }
    return OkStatus();
  }

  Status AddBody() {
    TFLEET_ASSIGN_OR_RETURN(Node * pivot,
                            added_.Identity("body_pivot", {FirstVarying().choice, 1}));
    BodySite site = Site("body", pivot);
    for (const LoopVariable& variable : variables_) {
      site.args.push_back(variable.invariant ? Endpoint{variable.enter, 0}
                                             : Endpoint{variable.choice, 1});
    }
    TFLEET_ASSIGN_OR_RETURN(const InsertedBody inserted, Insert(body_, site));
    for (size_t i = 0; i < variables_.size(); ++i) {
      LoopVariable& variable = variables_[i];
      if (variable.invariant) continue;
      TFLEET_ASSIGN_OR_RETURN(const Endpoint value,
                              Tied(inserted.returns[i], absl::StrCat("body/result_", i), pivot));
      TFLEET_ASSIGN_OR_RETURN(variable.next,
                              added_.Add(absl::StrCat("next_", i), "NextIteration", {value}));
      TFLEET_RETURN_IF_ERROR(graph_->AddEdge(variable.next, 0, variable.merge, 1).status());
      // The next iteration may read what this one writes.
      for (Node* effect : inserted.side_effects) graph_->AddControlEdge(effect, variable.next);
    }
    return OkStatus();
  }

  Status MoveResults() {
    std::vector<Node*> exits;
    for (size_t i = 0; i < variables_.size(); ++i) {
      const LoopVariable& variable = variables_[i];
      const Endpoint result = variable.invariant ? variable.input : Endpoint{variable.exit, 0};
      TFLEET_RETURN_IF_ERROR(MoveOutput({node_, static_cast<int>(i)}, result, graph_));
      if (!variable.invariant) exits.push_back(variable.exit);
    }
    TFLEET_ASSIGN_OR_RETURN(Node * done, added_.After("done", exits));
    MoveControlOutputs(node_, done, graph_);
    return OkStatus();
  }

  Node* const node_;
  const FunctionBody& cond_;
  const FunctionBody& body_;
  Graph* const graph_;
  AddedNodes added_;
  std::vector<LoopVariable> variables_;
  std::vector<Node*> calls_;
};

}  // namespace

StatusOr<std::vector<Node*>> LowerWhile(Node* node, const std::vector<FunctionBody>& bodies,
                                        Graph* graph) {
  return WhileLowering(node, bodies, graph).Run();
}

}  // namespace tensorfleet
