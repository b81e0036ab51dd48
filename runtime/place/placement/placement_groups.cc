#include "runtime/place/placement/placement_groups.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/base/log.h"
#include "runtime/graph/attr.h"
#include "runtime/kernels/accelerator.h"
#include "runtime/place/expand/function_calls.h"

namespace tensorfleet {
namespace {

constexpr absl::string_view kColocationPrefix = "loc:@";

bool CarriesState(DType type) { return IsRef(type) || type == DType::kResource; }

bool HasStateInput(const Node& node) {
  const std::vector<DType>& types = node.input_types();
  return std::any_of(types.begin(), types.end(), CarriesState);
}

// A node that holds what its output refers to, and so decides where its users go.
bool OwnsState(const Node& node) {
  const std::vector<DType>& types = node.output_types();
  return std::any_of(types.begin(), types.end(), CarriesState) && !HasStateInput(node);
}

// Whether that outlives the step: what can be shared has a name for it. Others, TensorArrays and
// stacks, end with their step.
bool HoldsLastingState(const Node& node) {
  return node.IsVariable() || node.schema().FindAttr("shared_name") != nullptr;
}

std::string Named(const Node& node) {
  return absl::StrCat("{{colocation_node ", node.name(), "}}");
}

// What has been merged so far, kept at the root of each tree.
struct Constraints {
  DeviceName request;
  const Node* requester = nullptr;
  const Node* owner = nullptr;  // of state, with a request or a place
  int fixed = -1;
  const Node* fixed_by = nullptr;
};

class GroupFinder {
 public:
  GroupFinder(const Graph& graph, const DeviceTable& devices, const PlacementOptions& options)
      : graph_(graph),
        devices_(devices),
        options_(options),
        parent_(graph.num_node_ids()),
        size_(graph.num_node_ids(), 1),
        constraints_(graph.num_node_ids()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  StatusOr<PlacementGroups> Run() {
    const std::vector<Node*> nodes = graph_.nodes();
    for (const Node* node : nodes) TFLEET_RETURN_IF_ERROR(Start(*node));
    for (const Node* node : nodes) TFLEET_RETURN_IF_ERROR(JoinColocated(*node));
    for (const Node* node : nodes) TFLEET_RETURN_IF_ERROR(JoinNeighbours(*node));
    return Collect(nodes);
  }

 private:
  int Root(int id) {
    while (parent_[id] != id) {
      parent_[id] = parent_[parent_[id]];
      id = parent_[id];
    }
    return id;
  }

  // Hangs one tree under the other; the larger one's root stays.
  void Join(int a, int b, Constraints merged) {
    if (size_[a] < size_[b]) std::swap(a, b);
    parent_[b] = a;
    size_[a] += size_[b];
    constraints_[a] = std::move(merged);
    constraints_[b] = {};
  }

  StatusOr<const DeviceName*> Parsed(const Node& node) {
    const auto [it, added] = parsed_.try_emplace(node.requested_device());
    if (added) {
      StatusOr<DeviceName> name = DeviceName::Parse(node.requested_device());
      if (!name.ok()) {
        return InvalidArgument("Malformed device specification '", node.requested_device(),
                               "' in node: {{node ", node.name(), "}}: ", name.status().message());
      }
      it->second = std::make_unique<DeviceName>(*std::move(name));
    }
    return it->second.get();
  }

  Status Start(const Node& node) {
    Constraints& own = constraints_[node.id()];
    if (!node.requested_device().empty()) {
      TFLEET_ASSIGN_OR_RETURN(const DeviceName* request, Parsed(node));
      own.request = *request;
      if (!request->has_nothing()) own.requester = &node;
    }
    if (!node.assigned_device().empty()) {
      own.fixed = devices_.Find(node.assigned_device());
      if (own.fixed < 0) {
        return InvalidArgument("{{node ", node.name(), "}} is on device ", node.assigned_device(),
                               ", which is not among the available devices ", devices_.ListNames());
      }
      own.fixed_by = &node;
    }
    if (OwnsState(node)) own.owner = &node;
    return OkStatus();
  }

  // Nodes of one `loc:@X` class, and node X where there is one.
  Status JoinColocated(const Node& node) {
    const tensorflow::AttrValue* classes = FindAttr(node.def(), "_class");
    if (classes == nullptr) return OkStatus();
    for (const std::string& entry : classes->list().s()) {
      absl::string_view name = entry;
      if (!absl::ConsumePrefix(&name, kColocationPrefix)) continue;
      const Node* leader = graph_.FindNode(name);
      if (leader == nullptr) {
        leader = leaders_.try_emplace(name, &node).first->second;
      }
      TFLEET_RETURN_IF_ERROR(JoinEqual(*leader, node));
    }
    return OkStatus();
  }

  Status JoinNeighbours(const Node& node) {
    const bool expanded_call = options_.calls_are_expanded && IsFunctionCall(node, graph_);
    for (const Edge* edge : node.in_edges()) {
      if (edge->is_control()) continue;
      if (edge->src->IsNextIteration()) {
        // The loop's back edge cannot leave its device: nothing would be there to receive at first.
        TFLEET_RETURN_IF_ERROR(JoinFollowing(node, *edge->src));
      } else if (CarriesState(node.input_type(edge->dst_input)) && !expanded_call &&
                 !(options_.calls_are_expanded && IsFunctionCall(*edge->src, graph_))) {
        TFLEET_RETURN_IF_ERROR(JoinFollowing(*edge->src, node));
      }
    }
    return OkStatus();
  }

  Status Conflict(const Node& a, const Node& b, absl::string_view why) const {
    return InvalidArgument("Cannot colocate nodes ", Named(a), " and ", Named(b), ": ", why);
  }

  // Both must be on one device and neither is more important.
  Status JoinEqual(const Node& a, const Node& b) {
    const int root_a = Root(a.id()), root_b = Root(b.id());
    if (root_a == root_b) return OkStatus();
    Constraints merged = constraints_[root_a];
    const Constraints& other = constraints_[root_b];
    const DeviceName& ours = EffectiveRequest(merged);
    const DeviceName& theirs = EffectiveRequest(other);
    if (!ours.IsCompatibleWith(theirs) && !options_.allow_soft_placement) {
      return Conflict(
          Requester(merged, a), Requester(other, b),
          absl::StrCat("they ask for devices ", ours.ToString(), " and ", theirs.ToString()));
    }
    if (!merged.request.IsCompatibleWith(other.request)) {
      DeviceName rest = other.request;
      for (DeviceName* name : {&merged.request, &rest}) {
        name->type.reset();
        name->id.reset();
      }
      if (!merged.request.IsCompatibleWith(rest)) {
        return Conflict(Requester(merged, a), Requester(other, b),
                        absl::StrCat("they ask for different tasks: ", merged.request.ToString(),
                                     " and ", rest.ToString()));
      }
      TFLEET_RETURN_IF_ERROR(merged.request.MergeFrom(rest));
    } else {
      TFLEET_RETURN_IF_ERROR(merged.request.MergeFrom(other.request));
    }
    TFLEET_RETURN_IF_ERROR(MergePlaces(a, b, other, &merged));
    if (merged.requester == nullptr) merged.requester = other.requester;
    if (merged.owner == nullptr) merged.owner = other.owner;
    Join(root_a, root_b, std::move(merged));
    return OkStatus();
  }

  // `leader` holds what `follower` works on: where their requests differ, the leader's counts.
  Status JoinFollowing(const Node& leader, const Node& follower) {
    const int root_l = Root(leader.id()), root_f = Root(follower.id());
    if (root_l == root_f) return OkStatus();
    Constraints merged = constraints_[root_l];
    const Constraints& other = constraints_[root_f];
    TFLEET_RETURN_IF_ERROR(MergePlaces(leader, follower, other, &merged));
    if (EffectiveRequest(merged).IsCompatibleWith(other.request)) {
      if (merged.request.IsCompatibleWith(other.request)) {
        TFLEET_RETURN_IF_ERROR(merged.request.MergeFrom(other.request));
      }
    } else if (other.owner != nullptr && merged.owner != nullptr) {
      return InvalidArgument(
          "Cannot place the graph because a reference or resource edge connects colocation groups "
          "with incompatible resource devices: ",
          EffectiveRequest(merged).ToString(), " vs ", other.request.ToString(),
          ". The edge src node is ", Named(leader), ", and the dst node is ", Named(follower),
          "; the state is held by ", Named(*merged.owner), " and ", Named(*other.owner));
    } else if (other.owner != nullptr) {
      merged.request = other.request;
      merged.requester = other.requester;
    } else if (options_.log) {
      LogInfo(absl::StrCat("Ignoring device specification ", other.request.ToString(),
                           " for node '", follower.name(), "' because the input edge from '",
                           leader.name(),
                           "' is a reference connection and already has a device field set to ",
                           EffectiveRequest(merged).ToString()));
    }
    if (merged.requester == nullptr) merged.requester = other.requester;
    if (merged.owner == nullptr) merged.owner = other.owner;
    Join(root_l, root_f, std::move(merged));
    return OkStatus();
  }

  // Takes over the place of `other`'s group.
  Status MergePlaces(const Node& a, const Node& b, const Constraints& other, Constraints* merged) {
    if (other.fixed >= 0 && merged->fixed >= 0 && other.fixed != merged->fixed) {
      return Conflict(
          *merged->fixed_by, *other.fixed_by,
          absl::StrCat("they were placed earlier on ", devices_.device(merged->fixed).name, " and ",
                       devices_.device(other.fixed).name, "; nodes ", Named(a), " and ", Named(b),
                       " tie them together"));
    }
    if (merged->fixed < 0) {
      merged->fixed = other.fixed;
      merged->fixed_by = other.fixed_by;
    }
    return OkStatus();
  }

  const DeviceName& EffectiveRequest(const Constraints& c) const {
    return c.fixed >= 0 ? devices_.device(c.fixed).parsed : c.request;
  }
  static const Node& Requester(const Constraints& c, const Node& fallback) {
    return c.requester != nullptr ? *c.requester : fallback;
  }

  bool RunsOn(const Node& node, const std::string& type) const {
    const KernelRegistry& kernels = *options_.kernels;
    if (kernels.Has(node, type)) return true;
    return type != kCpu && kernels.Has(node, kOnAccelerators) && kernels.Has(node, kCpu);
  }

  StatusOr<DeviceTypeSet> TypesWithKernel(const Node& node) const {
    const DeviceTypeSet all = (DeviceTypeSet{1} << (devices_.types().size() - 1) << 1) - 1;
    if (IsCallByName(node, graph_)) return all;
    if (options_.calls_are_expanded && IsFunctionCall(node, graph_)) return all;
    DeviceTypeSet types = 0;
    for (size_t i = 0; i < devices_.types().size(); ++i) {
      if (RunsOn(node, devices_.types()[i])) types |= DeviceTypeSet{1} << i;
    }
    if (types == 0) {
      const Status why = options_.kernels->Check(node, devices_.types().front());
      return InvalidArgument("Cannot assign a device for operation ", node.name(), ": ",
                             why.message(), "\n\t [[{{node ", node.name(), "}}]]");
    }
    return types;
  }

  StatusOr<PlacementGroups> Collect(const std::vector<Node*>& nodes) {
    PlacementGroups result;
    result.group_of.assign(graph_.num_node_ids(), -1);
    for (Node* node : nodes) {
      const int root = Root(node->id());
      TFLEET_ASSIGN_OR_RETURN(const DeviceTypeSet types, TypesWithKernel(*node));
      int& index = result.group_of[root];
      if (index < 0) {
        index = static_cast<int>(result.groups.size());
        const Constraints& found = constraints_[root];
        PlacementGroup group;
        group.request = found.request;
        group.requester = found.requester;
        group.fixed = found.fixed;
        group.types = types;
        result.groups.push_back(std::move(group));
      }
      PlacementGroup& group = result.groups[index];
      if ((group.types & types) == 0) {
        return Conflict(
            *group.nodes[0], *node,
            "no type of device has a kernel for both and the nodes colocated with them");
      }
      group.types &= types;
      group.holds_state |= HoldsLastingState(*node);
      group.runs_on_host |= options_.kernels->Has(*node, kOnHost);
      group.nodes.push_back(node);
      result.group_of[node->id()] = index;
    }
    return result;
  }

  const Graph& graph_;
  const DeviceTable& devices_;
  const PlacementOptions& options_;
  std::vector<int> parent_, size_;        // by node id
  std::vector<Constraints> constraints_;  // by node id, valid at roots
  absl::flat_hash_map<std::string, std::unique_ptr<DeviceName>> parsed_;
  // By class name, for classes that are not named after a node.
  absl::flat_hash_map<std::string, const Node*> leaders_;
};

}  // namespace

StatusOr<PlacementGroups> FindPlacementGroups(const Graph& graph, const DeviceTable& devices,
                                              const PlacementOptions& options) {
  return GroupFinder(graph, devices, options).Run();
}

}  // namespace tensorfleet
