// If and Case: every input goes through a Switch on the predicate, each branch works on its side,
// and Merge nodes take whichever side is alive. A Case is a chain of two-way choices.
#include <functional>
#include <utility>

#include "runtime/place/expand/added_nodes.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/expand/insert_body.h"
#include "runtime/place/expand/lower_control_flow.h"

namespace tensorfleet {
namespace {

// One side of a choice once it stands in the graph.
struct Side {
  std::vector<Endpoint> returns;
  Node* done = nullptr;  // alive, and run, when this side was taken and has finished
};

class BranchLowering {
 public:
  BranchLowering(Node* node, Graph* graph) : node_(node), graph_(graph), added_(*node, graph) {}

  // `make` builds the sides from the node's inputs but the first, which says where to go.
  Status Run(
      const std::function<StatusOr<Side>(Endpoint selector, std::vector<Endpoint> inputs)>& make) {
    TFLEET_ASSIGN_OR_RETURN(std::vector<Endpoint> inputs, DataInputs(*node_));
    Endpoint selector = inputs[0];
    inputs.erase(inputs.begin());
    waits_for_ = ControlInputs(*node_);
    if (waits_for_.size() > 1) {
      TFLEET_ASSIGN_OR_RETURN(Node * start, added_.After("start", waits_for_));
      waits_for_ = {start};
    }
    TFLEET_ASSIGN_OR_RETURN(Side result, make(selector, std::move(inputs)));
    if (static_cast<int>(result.returns.size()) != node_->num_outputs()) {
      return InvalidArgument("'", node_->name(), "' has ", node_->num_outputs(),
                             " outputs but its branches return ", result.returns.size());
    }
    for (int i = 0; i < node_->num_outputs(); ++i) {
      TFLEET_RETURN_IF_ERROR(MoveOutput({node_, i}, result.returns[i], graph_));
    }
    MoveControlOutputs(node_, result.done, graph_);
    graph_->RemoveNode(node_);
    return OkStatus();
  }

  // The outcome of taking `if_true` or `if_false` by `predicate`. `label` keeps the names of
  // several choices apart.
  using MakeSide = std::function<StatusOr<Side>(std::vector<Endpoint> inputs, Node* pivot)>;
  StatusOr<Side> Choose(const std::string& label, Endpoint predicate,
                        const std::vector<Endpoint>& inputs, const MakeSide& if_true,
                        const MakeSide& if_false) {
    TFLEET_ASSIGN_OR_RETURN(Node * choice,
                            added_.Add(label + "switch_pred", "Switch", {predicate, predicate}));
    Hold(choice);
    TFLEET_ASSIGN_OR_RETURN(Node * pivot_f, added_.Identity(label + "pivot_f", {choice, 0}));
    TFLEET_ASSIGN_OR_RETURN(Node * pivot_t, added_.Identity(label + "pivot_t", {choice, 1}));
    std::vector<Endpoint> false_inputs, true_inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(Node * split, added_.Add(absl::StrCat(label, "switch_", i), "Switch",
                                                       {inputs[i], predicate}));
      Hold(split);
      false_inputs.push_back({split, 0});
      true_inputs.push_back({split, 1});
    }
    TFLEET_ASSIGN_OR_RETURN(const Side taken, if_true(std::move(true_inputs), pivot_t));
    TFLEET_ASSIGN_OR_RETURN(const Side other, if_false(std::move(false_inputs), pivot_f));
    return Join(label, other, taken);
  }

  StatusOr<Side> InsertBranch(const std::string& name, const FunctionBody& body,
                              std::vector<Endpoint> inputs, Node* pivot) {
    BodySite site;
    site.prefix = added_.prefix(name);
    site.device = added_.device();
    site.args = std::move(inputs);
    site.starter = [pivot]() -> StatusOr<Node*> { return pivot; };
    TFLEET_ASSIGN_OR_RETURN(InsertedBody inserted, InsertBody(body, site, graph_));
    calls_.insert(calls_.end(), inserted.calls.begin(), inserted.calls.end());
    Side side;
    TFLEET_ASSIGN_OR_RETURN(side.done, added_.Identity(name + "/done", {pivot, 0}));
    for (const Endpoint& value : inserted.returns) {
      if (!value.node->IsSwitch()) graph_->AddControlEdge(value.node, side.done);
    }
    for (Node* effect : inserted.side_effects) graph_->AddControlEdge(effect, side.done);
    side.returns = std::move(inserted.returns);
    return side;
  }

  AddedNodes& added() { return added_; }
  Graph* graph() { return graph_; }
  std::vector<Node*> TakeCalls() { return std::move(calls_); }

 private:
  void Hold(Node* node) {
    for (Node* earlier : waits_for_) graph_->AddControlEdge(earlier, node);
  }

  StatusOr<Side> Join(const std::string& label, const Side& a, const Side& b) {
    if (a.returns.size() != b.returns.size()) {
      return InvalidArgument("the branches of '", added_.call_name(), "' return ", a.returns.size(),
                             " and ", b.returns.size(), " values");
    }
    const auto two = [](tensorflow::NodeDef* def) { SetAttr(def, "N", 2); };
    Side joined;
    for (size_t i = 0; i < a.returns.size(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(Node * merge, added_.Add(absl::StrCat(label, "merge_", i), "Merge",
                                                       {a.returns[i], b.returns[i]}, two));
      joined.returns.push_back({merge, 0});
    }
    TFLEET_ASSIGN_OR_RETURN(joined.done,
                            added_.Add(label + "done", "Merge", {{a.done, 0}, {b.done, 0}}, two));
    return joined;
  }

  Node* const node_;
  Graph* const graph_;
  AddedNodes added_;
  std::vector<Node*> waits_for_;
  std::vector<Node*> calls_;
};

}  // namespace

StatusOr<std::vector<Node*>> LowerIf(Node* node, const std::vector<FunctionBody>& bodies,
                                     Graph* graph) {
  BranchLowering lowering(node, graph);
  const auto side = [&](const char* name, const FunctionBody& body) {
    return [&lowering, name, &body](std::vector<Endpoint> inputs, Node* pivot) {
      return lowering.InsertBranch(name, body, std::move(inputs), pivot);
    };
  };
  TFLEET_RETURN_IF_ERROR(lowering.Run([&](Endpoint predicate, std::vector<Endpoint> inputs) {
    return lowering.Choose("", predicate, inputs, side("then", bodies[0]), side("else", bodies[1]));
  }));
  return lowering.TakeCalls();
}

StatusOr<std::vector<Node*>> LowerCase(Node* node, const std::vector<FunctionBody>& bodies,
                                       Graph* graph) {
  BranchLowering lowering(node, graph);
  // The branches from the k-th on; the last one takes every index that is left. The index travels
  // with the inputs, as their last one, so that it is dead where nobody needs it.
  std::function<StatusOr<Side>(size_t, std::vector<Endpoint>, Node*)> from =
      [&](size_t k, std::vector<Endpoint> inputs, Node* pivot) -> StatusOr<Side> {
    const std::string name = absl::StrCat("branch_", k);
    const auto branch = [&, k, name](std::vector<Endpoint> all, Node* start) {
      all.pop_back();
      return lowering.InsertBranch(name, bodies[k], std::move(all), start);
    };
    if (k + 1 == bodies.size()) return branch(std::move(inputs), pivot);
    const Endpoint index = inputs.back();
    TFLEET_ASSIGN_OR_RETURN(Node * number,
                            lowering.added().Add(name + "/index", "Const", {}, [&](auto* def) {
                              SetAttr(def, "dtype", DType::kInt32);
                              SetAttr(def, "value", Tensor::Scalar(static_cast<int32_t>(k)));
                            }));
    // Without inputs it would be outside of the loop that the Case may be in.
    if (pivot == nullptr) pivot = index.node;
    if (pivot->IsSwitch()) {
      TFLEET_ASSIGN_OR_RETURN(pivot, lowering.added().Identity(name + "/index_here", index));
    }
    lowering.graph()->AddControlEdge(pivot, number);
    TFLEET_ASSIGN_OR_RETURN(Node * equal,
                            lowering.added().Add(name + "/chosen", "Equal", {index, {number, 0}}));
    return lowering.Choose(name + "/", {equal, 0}, inputs, branch,
                           [&, k](std::vector<Endpoint> rest, Node* start) {
                             return from(k + 1, std::move(rest), start);
                           });
  };
  TFLEET_RETURN_IF_ERROR(lowering.Run([&](Endpoint index, std::vector<Endpoint> inputs) {
    inputs.push_back(index);
    return from(0, std::move(inputs), nullptr);
  }));
  return lowering.TakeCalls();
}

bool CanLower(const Node& node, const std::vector<FunctionBody>& bodies) {
  if (IsIf(node)) return BaseType(node.input_type(0)) == DType::kBool;
  if (IsCase(node)) return bodies.size() > 1;
  if (!IsWhile(node) || node.num_inputs() == 0 || bodies[0].returns.size() != 1) return false;
  return BaseType(bodies[0].returns[0]->input_type(0)) == DType::kBool;
}

}  // namespace tensorfleet
