#include "runtime/place/passes/aliased_reads.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/passed_reference.h"
#include "runtime/place/analysis/run_order.h"
#include "runtime/place/analysis/variable_uses.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {
namespace {

bool IsView(const Node& node) { return node.Is(NodeKind::kView); }
bool Keeps(const Node& node) { return node.Is(NodeKind::kKeepsInput); }

bool MayChangeShape(const Node& update) {
  if (update.op() != "Assign") return false;
  const tensorflow::AttrValue* validate = FindAttr(update.def(), "validate_shape");
  return validate != nullptr && !validate->b();
}

// What one variable's reads have to become. A value goes from the node that reads the reference
// (the root) through nodes that pass it on to its users.
class VariableReads {
 public:
  VariableReads(Graph* graph, RunOrder* order, const VariableUses& uses)
      : graph_(graph),
        order_(order),
        uses_(uses),
        after_any_(order->After(uses.updates, RunOrder::kEveryIteration)) {}

  Status Renew() {
    std::vector<Node*> roots;
    for (const Edge* read : uses_.reads) {
      Node* const reader = read->dst;
      if (!IsHere(*reader)) continue;
      if (Keeps(*reader)) TFLEET_RETURN_IF_ERROR(CheckKept(reader));
      if (IsView(*reader)) {
        TFLEET_RETURN_IF_ERROR(RenewView(reader));
      } else if (MayPassReference(*reader, read->dst_input)) {
        roots.push_back(reader);
      }
    }
    for (Node* root : roots) TFLEET_RETURN_IF_ERROR(RenewRoot(root));
    return OkStatus();
  }

 private:
  // A node on the way from a root to its users; `next_round`: after the end of the iteration in
  // which the root ran.
  struct Place {
    Node* node;
    bool next_round;
    friend bool operator==(const Place& a, const Place& b) {
      return a.node == b.node && a.next_round == b.next_round;
    }
    template <typename H>
    friend H AbslHashValue(H h, const Place& p) {
      return H::combine(std::move(h), p.node, p.next_round);
    }
  };
  struct Ways {
    std::vector<Place> places;  // the root first
    absl::flat_hash_map<Place, std::vector<Place>> came_from;
  };

  bool IsHere(const Node& node) const {
    return node.assigned_device() == uses_.variable->assigned_device();
  }
  // Whether `edge` carries the value that its source passes on, to somebody on the same device.
  bool Carries(const Edge& edge) const {
    return !edge.is_control() && !(edge.src->IsMerge() && edge.src_output == 1) &&
           IsHere(*edge.dst);
  }
  bool PassesOn(const Edge& edge) const {
    return Carries(edge) && MayPassReference(*edge.dst, edge.dst_input);
  }
  bool IsUser(const Edge& edge) const { return Carries(edge) && !PassesOn(edge); }

  // What runs after an update that does not itself come before `reader` in the same iteration.
  RunOrder::Nodes LateFor(const Node& reader, int frame) {
    const absl::flat_hash_set<const Node*> before = order_->Before(reader, frame);
    std::vector<Node*> updates;
    for (Node* update : uses_.updates) {
      if (!before.contains(update)) updates.push_back(update);
    }
    return order_->After(updates, frame);
  }
  bool IsLate(const Node& user, const RunOrder::Nodes& late) const {
    return late.contains(&user) || renewed_views_.contains(&user);
  }
  bool HasLateUser(const Place& place, const RunOrder::Nodes& late) const {
    const RunOrder::Nodes& later = place.next_round ? after_any_ : late;
    for (const Edge* edge : place.node->out_edges()) {
      if (IsUser(*edge) && IsLate(*edge->dst, later)) return true;
    }
    return false;
  }

  Ways WaysFrom(Node* root, int frame) const {
    Ways ways;
    ways.places.push_back({root, false});
    ways.came_from[ways.places.front()];
    for (size_t i = 0; i < ways.places.size(); ++i) {
      const Place at = ways.places[i];
      const bool next_round =
          at.next_round || (at.node->IsNextIteration() && order_->LeavesIteration(*at.node, frame));
      for (const Edge* edge : at.node->out_edges()) {
        if (!PassesOn(*edge)) continue;
        const Place next{edge->dst, next_round};
        const auto [from, is_new] = ways.came_from.try_emplace(next);
        from->second.push_back(at);
        if (is_new) ways.places.push_back(next);
      }
    }
    return ways;
  }

  Status RenewRoot(Node* root) {
    if (!seen_.insert(root).second) return OkStatus();
    const int frame = order_->FrameOf(*root);
    const Ways ways = WaysFrom(root, frame);
    TFLEET_RETURN_IF_ERROR(RenewViewsAt(ways));
    const auto may_be_late = [&](const Place& place) { return HasLateUser(place, after_any_); };
    if (std::none_of(ways.places.begin(), ways.places.end(), may_be_late)) return OkStatus();

    const RunOrder::Nodes late = LateFor(*root, frame);
    absl::flat_hash_set<Place> passing;  // on the way to a late user
    std::vector<Place> todo;
    for (const Place& place : ways.places) {
      if (HasLateUser(place, late) && passing.insert(place).second) todo.push_back(place);
    }
    if (todo.empty()) return OkStatus();
    TFLEET_RETURN_IF_ERROR(CheckShapesStay(*root));
    while (!todo.empty()) {
      const Place at = todo.back();
      todo.pop_back();
      if (at.node != root) MarkPassesReference(at.node);
      for (const Place& from : ways.came_from.at(at)) {
        if (passing.insert(from).second) todo.push_back(from);
      }
    }
    return MarkRoot(root, late);
  }

  // Those users of the root that run before all updates keep what they had: its value at once.
  Status MarkRoot(Node* root, const RunOrder::Nodes& late) {
    std::vector<const Edge*> later;
    bool has_early = false;
    for (const Edge* edge : root->out_edges()) {
      if (PassesOn(*edge) ? PassesReference(*edge->dst)
                          : IsUser(*edge) && IsLate(*edge->dst, late)) {
        later.push_back(edge);
      } else if (!edge->is_control()) {
        has_early = true;
      }
    }
    if (!has_early || root->op() != "Identity") {
      MarkPassesReference(root);
      return OkStatus();
    }
    tensorflow::NodeDef def = NewNodeDef("", "Identity", root->assigned_device());
    SetAttr(&def, "T", root->output_type(0));
    TFLEET_ASSIGN_OR_RETURN(Node* const again, AddAgain(*root, std::move(def)));
    graph_->AddControlEdge(root, again);
    MarkPassesReference(again);
    for (const Edge* edge : later) {
      TFLEET_RETURN_IF_ERROR(graph_->ReplaceInput(edge->dst, edge->dst_input, again, 0));
    }
    return OkStatus();
  }

  Status RenewViewsAt(const Ways& ways) {
    std::vector<Node*> views;
    for (const Place& place : ways.places) {
      for (const Edge* edge : place.node->out_edges()) {
        if (!IsUser(*edge)) continue;
        if (Keeps(*edge->dst)) TFLEET_RETURN_IF_ERROR(CheckKept(edge->dst));
        if (IsView(*edge->dst)) views.push_back(edge->dst);
      }
    }
    for (Node* view : views) TFLEET_RETURN_IF_ERROR(RenewView(view));
    return OkStatus();
  }

  // Gives each user of `view` that runs after an update a view of its own, taken when the user's
  // other inputs are there. What passes a view on is a view, too.
  Status RenewView(Node* view) {
    if (!seen_.insert(view).second) return OkStatus();
    std::vector<Node*> views, branches;
    for (const Edge* edge : view->out_edges()) {
      if (!Carries(*edge)) continue;
      if (Keeps(*edge->dst)) TFLEET_RETURN_IF_ERROR(CheckKept(edge->dst));
      if (edge->dst->IsControlFlow()) {
        branches.push_back(edge->dst);
      } else if (IsView(*edge->dst) || PassesOn(*edge)) {
        views.push_back(edge->dst);
      }
    }
    for (Node* user : views) TFLEET_RETURN_IF_ERROR(RenewView(user));
    const int frame = order_->FrameOf(*view);
    const RunOrder::Nodes late = LateFor(*view, frame);
    for (Node* branch : branches) {
      TFLEET_RETURN_IF_ERROR(CheckNotUsedLate(*view, branch, frame, late));
    }
    std::map<int, std::vector<const Edge*>> later;  // by the user's id
    for (const Edge* edge : view->out_edges()) {
      if (Carries(*edge) && !edge->dst->IsControlFlow() && IsLate(*edge->dst, late)) {
        later[edge->dst->id()].push_back(edge);
      }
    }
    if (later.empty()) return OkStatus();
    TFLEET_RETURN_IF_ERROR(CheckShapesStay(*view));
    for (const auto& [id, edges] : later) {
      TFLEET_ASSIGN_OR_RETURN(Node* const again, ViewAgain(*view, *edges.front()->dst));
      for (const Edge* edge : edges) {
        TFLEET_RETURN_IF_ERROR(
            graph_->ReplaceInput(edge->dst, edge->dst_input, again, edge->src_output));
      }
    }
    return OkStatus();
  }

  StatusOr<Node*> ViewAgain(const Node& view, const Node& user) {
    tensorflow::NodeDef def = view.def();
    def.clear_input();
    TFLEET_ASSIGN_OR_RETURN(Node* const again, AddAgain(view, std::move(def)));
    for (Node* source : ControlInputs(view)) graph_->AddControlEdge(source, again);
    for (const Edge* edge : user.in_edges()) {
      if (edge->src != &view) graph_->AddControlEdge(edge->src, again);
    }
    renewed_views_.insert(again);
    return again;
  }

  // Adds `def` beside `node`, fed as that is.
  StatusOr<Node*> AddAgain(const Node& node, tensorflow::NodeDef def) {
    def.set_name(graph_->UniqueName(absl::StrCat(node.name(), "/again")));
    TFLEET_ASSIGN_OR_RETURN(Node* const again, graph_->AddNode(std::move(def)));
    again->set_assigned_device(node.assigned_device());
    order_->SetFrame(again, order_->FrameOf(node));
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Endpoint input = InputOf(node, i);
      TFLEET_RETURN_IF_ERROR(graph_->AddEdge(input.node, input.index, again, i).status());
    }
    return again;
  }

  // A view cannot be taken again where its value goes into a loop or a branch.
  Status CheckNotUsedLate(const Node& view, Node* branch, int frame,
                          const RunOrder::Nodes& late) const {
    for (const Place& place : WaysFrom(branch, frame).places) {
      if (!HasLateUser(place, late)) continue;
      return Unimplemented("{{node ", view.name(), "}} (", view.op(), ") is a view of variable ",
                           uses_.variable->name(), ", which may be updated before {{node ",
                           place.node->name(), "}} hands the view to its users; apply ", view.op(),
                           " where its value is used");
    }
    return OkStatus();
  }

  Status CheckShapesStay(const Node& reader) const {
    for (const Node* update : uses_.updates) {
      if (!MayChangeShape(*update)) continue;
      return Unimplemented(
          "the value that {{node ", reader.name(), "}} reads of variable ", uses_.variable->name(),
          " is used after the variable was updated, and {{node ", update->name(),
          "}} may change the variable's shape (validate_shape=false): read the variable again "
          "where its new value is wanted (read_value()), or use a resource variable");
    }
    return OkStatus();
  }

  // TensorFlow keeps the variable's own memory: a later update changes what was kept.
  Status CheckKept(Node* keeper) {
    const absl::flat_hash_set<const Node*> before =
        order_->Before(*keeper, RunOrder::kEveryIteration);
    const RunOrder::Nodes after = order_->After({keeper}, RunOrder::kEveryIteration);
    for (const Node* update : uses_.updates) {
      if (before.contains(update) && !after.contains(update)) continue;
      return Unimplemented("{{node ", keeper->name(), "}} (", keeper->op(),
                           ") keeps the value of variable ", uses_.variable->name(),
                           ", which {{node ", update->name(),
                           "}} may update later, and in TensorFlow what is kept would change with "
                           "it: keep a computed value (v + 0), or use a resource variable");
    }
    return OkStatus();
  }

  Graph* const graph_;
  RunOrder* const order_;
  const VariableUses& uses_;
  const RunOrder::Nodes after_any_;
  absl::flat_hash_set<const Node*> seen_;           // roots and views that are done
  absl::flat_hash_set<const Node*> renewed_views_;  // made here, for late users
};

}  // namespace

Status RenewAliasedReads(Graph* graph, const RewriteContext&) {
  const std::vector<VariableUses> variables = FindVariableUses(*graph);
  if (variables.empty()) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(LoopFrames frames, FindLoopFrames(*graph));
  RunOrder order(*graph, std::move(frames));
  for (const VariableUses& uses : variables) {
    TFLEET_RETURN_IF_ERROR(VariableReads(graph, &order, uses).Renew());
  }
  return OkStatus();
}

}  // namespace tensorfleet
