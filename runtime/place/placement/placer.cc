#include "runtime/place/placement/placer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/node_hash_map.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/placement/neighbours.h"
#include "runtime/place/placement/placement_groups.h"
#include "runtime/place/placement/placement_rules.h"

namespace tensorfleet {
namespace {

class Placer {
 public:
  Placer(const Graph& graph, const PlacementOptions& options, const DeviceTable& devices,
         const PlacementGroups& groups)
      : graph_(graph),
        options_(options),
        devices_(devices),
        groups_(groups),
        device_of_group_(groups.groups.size(), -1) {}

  Status Run() {
    // Groups without a choice come first: the rules for the others look at them.
    candidates_.reserve(groups_.groups.size());
    for (const PlacementGroup& group : groups_.groups) {
      TFLEET_ASSIGN_OR_RETURN(const std::vector<int>* candidates, Candidates(group));
      candidates_.push_back(candidates);
    }
    for (size_t i = 0; i < groups_.groups.size(); ++i) {
      if (candidates_[i]->size() == 1) TFLEET_RETURN_IF_ERROR(Decide(i));
    }
    for (const PlacementPhase phase :
         {PlacementPhase::kState, PlacementPhase::kReader, PlacementPhase::kOrdinary,
          PlacementPhase::kMetadata, PlacementPhase::kSource}) {
      if (phase == PlacementPhase::kOrdinary &&
          options_.default_placement == DefaultPlacement::kAuto) {
        drawn_ = DrawnByNeighbours(graph_, View());
      }
      for (size_t i = 0; i < groups_.groups.size(); ++i) {
        if (device_of_group_[i] < 0 && PhaseOf(groups_.groups[i]) == phase) {
          TFLEET_RETURN_IF_ERROR(Decide(i));
        }
      }
    }
    return OkStatus();
  }

  void Assign() const {
    for (size_t i = 0; i < groups_.groups.size(); ++i) {
      const std::string& name = devices_.device(device_of_group_[i]).name;
      for (Node* node : groups_.groups[i].nodes) node->set_assigned_device(name);
    }
  }

 private:
  PlacementView View() const { return {devices_, groups_, device_of_group_, drawn_}; }

  Status Decide(size_t i) {
    const PlacementGroup& group = groups_.groups[i];
    for (const PlacementRule& rule : PlacementRules()) {
      if (const std::optional<int> device = rule.choose(group, *candidates_[i], View())) {
        device_of_group_[i] = *device;
        return OkStatus();
      }
    }
    return Internal("no rule placed node ", group.nodes[0]->name());
  }

  // Devices that satisfy the group's constraints, best first; never empty.
  StatusOr<const std::vector<int>*> Candidates(const PlacementGroup& group) {
    if (group.fixed >= 0) {
      std::vector<int>& only = fixed_[group.fixed];
      only = {group.fixed};
      return &only;
    }
    std::string key = group.request.has_nothing() ? "" : group.request.ToString();
    const auto [it, added] =
        matching_.try_emplace({std::move(key), group.types, group.holds_state, group.runs_on_host});
    if (added) {
      it->second = Matching(group, group.request);
      if (it->second.empty() && options_.allow_soft_placement) {
        DeviceName relaxed = group.request;
        relaxed.type.reset();
        relaxed.id.reset();
        it->second = Matching(group, relaxed);
      }
    }
    if (it->second.empty()) return NoDevice(group);
    return &it->second;
  }

  std::vector<int> Matching(const PlacementGroup& group, const DeviceName& request) const {
    std::vector<int> found;
    for (int i = 0; i < devices_.size(); ++i) {
      if ((devices_.type_bit(i) & group.types) != 0 && request.Matches(devices_.device(i).parsed)) {
        found.push_back(i);
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [&](int a, int b) { return Rank(group, a) < Rank(group, b); });
    return found;
  }

  // Less is better. The table is sorted by name, which decides between equals.
  std::tuple<bool, bool> Rank(const PlacementGroup& group, int i) const {
    // A GPU before a CPU, unless the work would be the host's all the same.
    const bool is_cpu = (devices_.device(i).type == kCpu) != group.runs_on_host;
    const bool to_asked =
        options_.default_placement == DefaultPlacement::kAuto && !group.holds_state;
    const bool elsewhere = to_asked ? devices_.task(i) != devices_.task(devices_.client_device())
                                    : !devices_.is_default_task(i);
    return options_.default_placement == DefaultPlacement::kMasterTask
               ? std::make_tuple(is_cpu, elsewhere)
               : std::make_tuple(elsewhere, is_cpu);
  }

  Status NoDevice(const PlacementGroup& group) const {
    const Node& node = group.requester != nullptr ? *group.requester : *group.nodes[0];
    const std::string asked = node.requested_device();
    const bool exists = [&] {
      for (int i = 0; i < devices_.size(); ++i) {
        if (group.request.Matches(devices_.device(i).parsed)) return true;
      }
      return false;
    }();
    if (!exists) {
      return InvalidArgument("Cannot assign a device for operation ", node.name(), ": {{node ",
                             node.name(), "}} was explicitly assigned to ", asked,
                             " but available devices are ", devices_.ListNames(),
                             ". Make sure the device specification refers to a valid device.");
    }
    const std::string type = group.request.type.value_or("these");
    Status why;
    for (const Node* member : group.nodes) {
      why = options_.kernels->Check(*member, type);
      if (!why.ok()) break;
    }
    return InvalidArgument("Cannot assign a device for operation ", node.name(),
                           ": Could not satisfy explicit device specification '", asked,
                           "' because no supported kernel for ", type, " devices is available. ",
                           why.message(), "\n\t [[{{node ", node.name(), "}}]]");
  }

  const Graph& graph_;
  const PlacementOptions& options_;
  const DeviceTable& devices_;
  const PlacementGroups& groups_;
  std::vector<int> device_of_group_;
  std::vector<int> drawn_;                           // by group; see PlacementView
  std::vector<const std::vector<int>*> candidates_;  // by group
  // Where they are kept, by request, types, holds_state and runs_on_host, and by fixed device.
  // Values must not move.
  absl::node_hash_map<std::tuple<std::string, DeviceTypeSet, bool, bool>, std::vector<int>>
      matching_;
  absl::node_hash_map<int, std::vector<int>> fixed_;
};

}  // namespace

Status Place(const PlacementOptions& options, Graph* graph) {
  TFLEET_ASSIGN_OR_RETURN(const DeviceTable devices, DeviceTable::Make(options));
  TFLEET_ASSIGN_OR_RETURN(const PlacementGroups groups,
                          FindPlacementGroups(*graph, devices, options));
  Placer placer(*graph, options, devices, groups);
  TFLEET_RETURN_IF_ERROR(placer.Run());
  placer.Assign();
  if (options.log) {
    for (const Node* node : graph->nodes()) {
      options.log(absl::StrCat(node->name(), ": (", node->op(), "): ", node->assigned_device()));
    }
  }
  return OkStatus();
}

void ForgetStatelessPlacement(Graph* graph) {
  for (Node* node : graph->nodes()) {
    const bool holds_state = node->schema().is_stateful || node->IsVariable();
    if (!holds_state || IsFunctionCall(*node, *graph)) node->set_assigned_device("");
  }
}

}  // namespace tensorfleet
