// Where a group of nodes goes: named rules, tried in order; the first that has an opinion decides.
// Every rule chooses among the group's candidates, the devices that satisfy its constraints.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/place/placement/placement_groups.h"

namespace tensorfleet {

// What a rule may look at.
struct PlacementView {
  const DeviceTable& devices;
  const PlacementGroups& groups;
  const std::vector<int>& device_of_group;  // -1 while a group is not placed
  // A device of the task that draws each group (neighbours.h); empty unless kAuto, -1 for none.
  absl::Span<const int> drawn;
  int DeviceOf(const Node& node) const { return device_of_group[groups.group_of[node.id()]]; }
};

struct PlacementRule {
  const char* name;
  // The device for `group`, one of `candidates` (best first, never empty), or nothing.
  std::optional<int> (*choose)(const PlacementGroup& group, absl::Span<const int> candidates,
                               const PlacementView& view);
};

absl::Span<const PlacementRule> PlacementRules();

// Groups with a choice are placed in this order, so that rules which look at neighbours find them
// placed.
enum class PlacementPhase { kState, kReader, kOrdinary, kMetadata, kSource };
PlacementPhase PhaseOf(const PlacementGroup& group);

}  // namespace tensorfleet
