#include "runtime/place/expand/insert_body.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/device/device_name.h"
#include "runtime/graph/attr.h"
#include "runtime/place/expand/function_calls.h"

namespace tensorfleet {
namespace {

class BodyInserter {
 public:
  BodyInserter(const FunctionBody& body, const BodySite& site, Graph* graph)
      : body_(body), site_(site), graph_(graph), args_(site.args) {}

  StatusOr<InsertedBody> Run() {
    if (body_.args.size() != args_.size()) {
      return InvalidArgument("function body of '", site_.prefix, "' takes ", body_.args.size(),
                             " arguments but is given ", args_.size());
    }
    arg_index_.assign(body_.graph->num_node_ids(), -1);
    for (size_t i = 0; i < body_.args.size(); ++i) {
      arg_index_[body_.args[i]->id()] = static_cast<int>(i);
    }
    FindLive();
    copies_.assign(body_.graph->num_node_ids(), nullptr);
    for (const Node* node : body_.graph->nodes()) {
      if (live_[node->id()] && IsInner(*node)) TFLEET_RETURN_IF_ERROR(Copy(*node));
    }
    for (const Node* node : body_.graph->nodes()) {
      if (copies_[node->id()] != nullptr) TFLEET_RETURN_IF_ERROR(Connect(*node));
    }
    return Result();
  }

 private:
  static bool IsInner(const Node& node) { return !node.IsArg() && !node.IsRetval(); }

  void FindLive() {
    live_.assign(body_.graph->num_node_ids(), false);
    std::vector<const Node*> open;
    auto visit = [&](const Node* node) {
      if (live_[node->id()]) return;
      live_[node->id()] = true;
      open.push_back(node);
    };
    for (const Node* node : body_.returns) visit(node);
    for (const Node* node : body_.control_returns) visit(node);
    for (const Node* node : body_.graph->nodes()) {
      if (IsInner(*node) && node->schema().is_stateful) visit(node);
    }
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      for (const Edge* edge : node->in_edges()) visit(edge->src);
    }
  }

  Status Copy(const Node& node) {
    tensorflow::NodeDef def = node.def();
    def.clear_input();
    def.set_name(graph_->UniqueName(absl::StrCat(site_.prefix, node.name())));
    def.set_device(DeviceInside(node.requested_device(), site_.device));
    if (node.IsEnter()) {
      TFLEET_ASSIGN_OR_RETURN(const std::string frame,
                              GetAttr<std::string>(node.def(), "frame_name"));
      SetAttr(&def, "frame_name", absl::StrCat(site_.prefix, frame));
    }
    RenameClasses(&def);
    TFLEET_ASSIGN_OR_RETURN(copies_[node.id()], graph_->AddNode(std::move(def)));
    return OkStatus();
  }

  // Classes are named after nodes of the body; a class named after an argument means what is
  // passed.
  void RenameClasses(tensorflow::NodeDef* def) const {
    auto it = def->mutable_attr()->find("_class");
    if (it == def->mutable_attr()->end()) return;
    for (std::string& entry : *it->second.mutable_list()->mutable_s()) {
      absl::string_view name = entry;
      if (!absl::ConsumePrefix(&name, "loc:@")) continue;
      const Node* leader = body_.graph->FindNode(name);
      const int arg = leader == nullptr ? -1 : arg_index_[leader->id()];
      entry = arg >= 0 ? absl::StrCat("loc:@", args_[arg].node->name())
                       : absl::StrCat("loc:@", site_.prefix, name);
    }
  }

  bool AlwaysAlive(int arg) const { return !site_.always_alive.empty() && site_.always_alive[arg]; }

  Status Connect(const Node& node) {
    Node* copy = copies_[node.id()];
    bool held_back = false;
    for (const Edge* edge : node.in_edges()) {
      const int arg = arg_index_[edge->src->id()];
      held_back |= arg < 0 || !AlwaysAlive(arg);
      if (edge->is_control()) {
        Node* src = copies_[edge->src->id()];
        if (arg >= 0) {
          TFLEET_ASSIGN_OR_RETURN(src, ArgAsControl(arg));
        }
        graph_->AddControlEdge(src, copy);
        continue;
      }
      const Endpoint source =
          arg >= 0 ? args_[arg] : Endpoint{copies_[edge->src->id()], edge->src_output};
      TFLEET_RETURN_IF_ERROR(
          graph_->AddEdge(source.node, source.index, copy, edge->dst_input).status());
    }
    if (!held_back) {
      TFLEET_ASSIGN_OR_RETURN(Node * starter, Starter());
      if (starter != nullptr) graph_->AddControlEdge(starter, copy);
    }
    return OkStatus();
  }

  StatusOr<Node*> Starter() {
    if (!starter_known_) {
      if (site_.starter) {
        TFLEET_ASSIGN_OR_RETURN(starter_, site_.starter());
      }
      starter_known_ = true;
    }
    return starter_;
  }

  // A control edge out of a Switch would say nothing about the branch taken.
  StatusOr<Node*> ArgAsControl(int arg) {
    Endpoint& value = args_[arg];
    if (!value.node->IsSwitch()) return value.node;
    tensorflow::NodeDef def =
        NewNodeDef(graph_->UniqueName(absl::StrCat(site_.prefix, body_.args[arg]->name())),
                   "Identity", site_.device);
    SetAttr(&def, "T", BaseType(value.node->output_type(value.index)));
    TFLEET_ASSIGN_OR_RETURN(Node * identity, graph_->AddNode(std::move(def)));
    TFLEET_RETURN_IF_ERROR(graph_->AddEdge(value.node, value.index, identity, 0).status());
    value = {identity, 0};
    return identity;
  }

  StatusOr<InsertedBody> Result() {
    InsertedBody result;
    for (const Node* node : body_.returns) {
      const Endpoint source = InputOf(*node, 0);
      const int arg = arg_index_[source.node->id()];
      result.returns.push_back(arg >= 0 ? args_[arg]
                                        : Endpoint{copies_[source.node->id()], source.index});
    }
    std::vector<bool> listed(body_.graph->num_node_ids(), false);
    auto list = [&](const Node* node) {
      Node* copy = copies_[node->id()];
      if (copy == nullptr || listed[node->id()]) return;
      listed[node->id()] = true;
      result.side_effects.push_back(copy);
    };
    for (const Node* node : body_.control_returns) list(node);
    for (const Node* node : body_.graph->nodes()) {
      if (copies_[node->id()] == nullptr) continue;
      // Others are run before what uses them.
      if (node->schema().is_stateful && node->out_edges().empty()) list(node);
      if (IsFunctionCall(*copies_[node->id()], *graph_)) {
        result.calls.push_back(copies_[node->id()]);
      }
    }
    return result;
  }

  const FunctionBody& body_;
  const BodySite& site_;
  Graph* const graph_;
  std::vector<Endpoint> args_;
  std::vector<int> arg_index_;  // by id in the body; -1 for other nodes
  std::vector<bool> live_;      // by id in the body
  std::vector<Node*> copies_;   // by id in the body
  bool starter_known_ = false;
  Node* starter_ = nullptr;
};

}  // namespace

StatusOr<InsertedBody> InsertBody(const FunctionBody& body, const BodySite& site, Graph* graph) {
  return BodyInserter(body, site, graph).Run();
}

std::string DeviceInside(const std::string& requested, const std::string& outer) {
  if (outer.empty()) return requested;
  if (requested.empty()) return outer;
  StatusOr<DeviceName> inner = DeviceName::Parse(requested);
  StatusOr<DeviceName> rest = DeviceName::Parse(outer);
  if (!inner.ok() || !rest.ok()) return requested;
  rest->OverrideWith(*inner);
  return rest->ToString();
}

}  // namespace tensorfleet
