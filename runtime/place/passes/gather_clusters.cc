#include "runtime/place/passes/gather_clusters.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/passed_reference.h"
#include "runtime/kernels/accelerator.h"
#include "runtime/place/analysis/deadness.h"
#include "runtime/place/expand/compiled_calls.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/graph_edit.h"
#include "runtime/place/partition.h"

namespace tensorfleet {
namespace {

class Gatherer {
 public:
  Gatherer(Graph* graph, const RewriteContext& context)
      : graph_(*graph), kernels_(*context.placement->kernels) {
    for (const DeviceAttributes& device : context.placement->devices) {
      if (absl::StartsWith(device.description, kClusterDevicePrefix)) {
        devices_.emplace(device.name, static_cast<int>(devices_.size()));
      }
    }
  }

  Status Run() {
    if (devices_.empty()) return OkStatus();
    TFLEET_ASSIGN_OR_RETURN(order_, TopologicalOrder(graph_));
    TFLEET_RETURN_IF_ERROR(FindKinds());
    FindStages();
    FindGroups();
    SinkGroups();
    // Copies of ids: nodes are added and removed meanwhile.
    std::map<int, std::vector<Node*>> groups;
    for (Node* node : order_) {
      if (kind_[node->id()] >= 0) groups[Root(node->id())].push_back(node);
    }
    for (const auto& [root, members] : groups) {
      const bool is_worth = std::any_of(members.begin(), members.end(), [this](const Node* node) {
        return IsFunctionCall(*node, graph_) ||
               (kernels_.Has(*node, kWorthALaunch) && !IsIndexWork(*node));
      });
      if (is_worth) TFLEET_RETURN_IF_ERROR(Replace(members));
    }
    return OkStatus();
  }

 private:
  // Integers that describe shapes are better left to the host.
  static bool IsIndexWork(const Node& node) {
    return !node.output_types().empty() &&
           std::all_of(node.output_types().begin(), node.output_types().end(),
                       [](DType t) { return t == DType::kInt32 || t == DType::kInt64; });
  }

  bool MayJoin(const Node& node) const {
    if (!devices_.contains(node.assigned_device()) || PassesReference(node)) return false;
    if (!IsFunctionCall(node, graph_)) {
      if (!kernels_.Has(node, kCompiled)) return false;
    } else if (const auto device = DeviceName::Parse(node.assigned_device());
               !device.ok() || !CompilesWhole(node, graph_, kernels_, *device)) {
      return false;
    }
    for (const Edge* edge : node.out_edges()) {
      // References and handles do not leave a cluster.
      if (edge->is_control()) continue;
      const DType type = node.output_type(edge->src_output);
      if (IsRef(type) || type == DType::kResource) return false;
    }
    for (const Edge* edge : node.in_edges()) {
      if (edge->is_control()) continue;
      // A state whose owner is elsewhere, or comes by another way than from its own node, is not
      // looked into.
      const DType type = edge->src->output_type(edge->src_output);
      if (IsRef(type) && !edge->src->IsVariable()) return false;
      // Such a value is the variable's when its user runs; a cluster reads its inputs at its start.
      if (PassesReference(*edge->src)) return false;
    }
    return true;
  }

  // Nodes of one kind may be in one cluster. A call is one by itself: where its shapes turn out to
  // change from one iteration to the next it runs on the host, and nothing else with it.
  Status FindKinds() {
    kind_.assign(graph_.num_node_ids(), -1);
    TFLEET_ASSIGN_OR_RETURN(const LoopFrames frames, FindLoopFrames(graph_));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<int> deadness, DeadnessClasses(graph_, frames));
    std::map<std::tuple<int, int, int, int>, int> kinds;
    for (const Node* node : order_) {
      if (deadness[node->id()] < 0 || !MayJoin(*node)) continue;
      const int call = IsFunctionCall(*node, graph_) ? node->id() : -1;
      const std::tuple<int, int, int, int> key(devices_.at(node->assigned_device()),
                                               frames.frame_of[node->id()], deadness[node->id()],
                                               call);
      kind_[node->id()] = kinds.try_emplace(key, static_cast<int>(kinds.size())).first->second;
    }
    return OkStatus();
  }

  bool AreOfOneKind(const Edge& edge) const {
    return kind_[edge.src->id()] >= 0 && kind_[edge.src->id()] == kind_[edge.dst->id()];
  }

  // A node's stage is how often the longest way to it leaves a kind. A way out of a group and back
  // ends in a later stage: so nodes of one kind and stage can be taken together without a cycle.
  void FindStages() {
    stage_.assign(graph_.num_node_ids(), 0);
    for (const Node* node : order_) {
      int& stage = stage_[node->id()];
      for (const Edge* edge : node->in_edges()) {
        if (edge->src->IsNextIteration()) continue;
        stage = std::max(stage, stage_[edge->src->id()] + (AreOfOneKind(*edge) ? 0 : 1));
      }
    }
  }

  bool AreTogether(const Edge& edge) const {
    return AreOfOneKind(edge) && stage_[edge.src->id()] == stage_[edge.dst->id()];
  }

  int Root(int id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  void FindGroups() {
    parent_.resize(graph_.num_node_ids());
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const Node* node : order_) {
      for (const Edge* edge : node->in_edges()) {
        if (AreTogether(*edge)) parent_[Root(edge->src->id())] = Root(node->id());
      }
    }
  }

  // A group whose first users are in a later group of its kind moves there as a whole when nothing
  // else needs it before: two launches become one.
  void SinkGroups() {
    std::map<int, std::vector<Node*>> members;
    for (Node* node : order_) {
      if (kind_[node->id()] >= 0) members[Root(node->id())].push_back(node);
    }
    std::vector<std::vector<Node*>*> latest_first;
    for (auto& [root, nodes] : members) latest_first.push_back(&nodes);
    std::stable_sort(latest_first.begin(), latest_first.end(), [this](auto* a, auto* b) {
      return stage_[a->front()->id()] > stage_[b->front()->id()];
    });
    for (std::vector<Node*>* group : latest_first) SinkGroup(*group);
  }

  void SinkGroup(const std::vector<Node*>& group) {
    const int stage = stage_[group[0]->id()];
    int limit = std::numeric_limits<int>::max();
    for (const Node* node : group) {
      for (const Edge* edge : node->out_edges()) {
        if (AreTogether(*edge)) continue;
        limit = std::min(limit, stage_[edge->dst->id()] - (AreOfOneKind(*edge) ? 0 : 1));
      }
    }
    if (limit == std::numeric_limits<int>::max() || limit <= stage) return;
    std::vector<const Edge*> joins;
    for (const Node* node : group) {
      for (const Edge* edge : node->out_edges()) {
        if (!AreTogether(*edge) && AreOfOneKind(*edge) && stage_[edge->dst->id()] == limit) {
          joins.push_back(edge);
        }
      }
    }
    if (joins.empty()) return;
    for (const Node* node : group) stage_[node->id()] = limit;
    for (const Edge* edge : joins) parent_[Root(edge->src->id())] = Root(edge->dst->id());
  }

  // Puts one node in the place of `members`, which are in topological order.
  Status Replace(const std::vector<Node*>& members) {
    const absl::flat_hash_set<const Node*> is_member(members.begin(), members.end());
    Graph body(&graph_.ops(), graph_.library());
    body.set_versions(graph_.versions());
    absl::flat_hash_map<const Node*, Node*> copies;
    for (const Node* node : members) {
      TFLEET_ASSIGN_OR_RETURN(Node * copy, CopyNode(*node, &body));
      copy->set_requested_device("");
      copy->set_assigned_device("");
      copies.emplace(node, copy);
    }
    std::vector<Endpoint> inputs, outputs;
    std::vector<DType> input_types, output_types;
    std::map<std::pair<int, int>, Node*> arguments;  // by source node id and output
    std::set<Node*> waits_for, waited_by;
    for (Node* node : members) {
      for (const Edge* edge : node->in_edges()) {
        if (edge->is_control()) {
          if (is_member.contains(edge->src)) {
            body.AddControlEdge(copies[edge->src], copies[node]);
          } else {
            waits_for.insert(edge->src);
          }
          continue;
        }
        Endpoint source{nullptr, 0};
        if (is_member.contains(edge->src)) {
          source = {copies[edge->src], edge->src_output};
        } else {
          Node*& argument = arguments[{edge->src->id(), edge->src_output}];
          if (argument == nullptr) {
            const DType type = edge->src->output_type(edge->src_output);
            tensorflow::NodeDef def = NewNodeDef(body.UniqueName(edge->src->name()), "_Arg", "");
            SetAttr(&def, "T", type);
            SetAttr(&def, "index", static_cast<int64_t>(inputs.size()));
            TFLEET_ASSIGN_OR_RETURN(argument, body.AddNode(std::move(def)));
            inputs.push_back({edge->src, edge->src_output});
            input_types.push_back(type);
          }
          source = {argument, 0};
        }
        TFLEET_RETURN_IF_ERROR(
            body.AddEdge(source.node, source.index, copies[node], edge->dst_input).status());
      }
      std::set<int> used;
      for (const Edge* edge : node->out_edges()) {
        if (is_member.contains(edge->dst)) continue;
        if (edge->is_control()) {
          waited_by.insert(edge->dst);
        } else {
          used.insert(edge->src_output);
        }
      }
      for (const int output : used) {
        tensorflow::NodeDef def = NewNodeDef(body.UniqueName("result"), "_Retval", "");
        SetAttr(&def, "T", node->output_type(output));
        SetAttr(&def, "index", static_cast<int64_t>(outputs.size()));
        TFLEET_ASSIGN_OR_RETURN(Node * result, body.AddNode(std::move(def)));
        TFLEET_RETURN_IF_ERROR(body.AddEdge(copies[node], output, result, 0).status());
        outputs.push_back({node, output});
        output_types.push_back(node->output_type(output));
      }
    }
    tensorflow::GraphDef body_def;
    ExportGraphDef(body, {}, &body_def);
    *body_def.mutable_library() = UsedFunctions(body);
    const std::string name = graph_.UniqueName(absl::StrCat("cluster/", members.back()->name()));
    tensorflow::NodeDef def = NewNodeDef(name, kClusterOp, members[0]->assigned_device());
    SetAttr(&def, "Tin", absl::MakeConstSpan(input_types));
    SetAttr(&def, "Tout", absl::MakeConstSpan(output_types));
    SetAttr(&def, "body", body_def.SerializeAsString());
    const std::string device = members[0]->assigned_device();
    TFLEET_ASSIGN_OR_RETURN(Node * cluster, graph_.AddNode(std::move(def)));
    cluster->set_assigned_device(device);
    for (size_t i = 0; i < inputs.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(
          graph_.AddEdge(inputs[i].node, inputs[i].index, cluster, static_cast<int>(i)).status());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(MoveOutput(outputs[i], {cluster, static_cast<int>(i)}, &graph_));
    }
    for (Node* node : waits_for) graph_.AddControlEdge(node, cluster);
    for (Node* node : waited_by) graph_.AddControlEdge(cluster, node);
    for (Node* node : members) graph_.RemoveNode(node);
    return OkStatus();
  }

  Graph& graph_;
  const KernelRegistry& kernels_;
  absl::flat_hash_map<std::string, int> devices_;
  std::vector<Node*> order_;
  std::vector<int> kind_, stage_, parent_;  // by node id
};

}  // namespace

Status GatherClusters(Graph* graph, const RewriteContext& context) {
  if (!context.options.gather_clusters) return OkStatus();
  return Gatherer(graph, context).Run();
}

}  // namespace tensorfleet
