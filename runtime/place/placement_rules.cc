#include "runtime/place/placement_rules.h"

#include <algorithm>

namespace tensorfleet {
namespace {

// A node with neither inputs nor state behind a reference: it may be computed wherever its result
// is used.
bool IsSource(const Node& node) {
  return node.num_inputs() == 0 && node.num_outputs() == 1 && !IsRef(node.output_type(0));
}

// A node that looks at its input's shape only: moving the input to it would be a waste.
bool IsMetadata(const Node& node) {
  return node.num_inputs() == 1 && (node.op() == "Shape" || node.op() == "ShapeN" ||
                                    node.op() == "Size" || node.op() == "Rank");
}

std::optional<int> IfCandidate(int device, absl::Span<const int> candidates) {
  if (std::find(candidates.begin(), candidates.end(), device) == candidates.end()) return {};
  return device;
}

std::optional<int> TakeOnlyCandidate(const PlacementGroup& group, absl::Span<const int> candidates,
                                     const PlacementView& view) {
  if (candidates.size() != 1) return {};
  return candidates[0];
}

std::optional<int> MetadataFollowsInput(const PlacementGroup& group,
                                        absl::Span<const int> candidates,
                                        const PlacementView& view) {
  if (PhaseOf(group) != PlacementPhase::kMetadata) return {};
  const Edge* input = group.nodes[0]->in_edge(0);
  if (input == nullptr) return {};
  return IfCandidate(view.DeviceOf(*input->src), candidates);
}

std::optional<int> SourceFollowsUsers(const PlacementGroup& group, absl::Span<const int> candidates,
                                      const PlacementView& view) {
  if (PhaseOf(group) != PlacementPhase::kSource) return {};
  int common = -1;
  for (const Node* node : group.nodes) {
    for (const Edge* edge : node->out_edges()) {
      const int device = view.DeviceOf(*edge->dst);
      if (device < 0 || (common >= 0 && device != common)) return {};
      common = device;
    }
  }
  return IfCandidate(common, candidates);
}

std::optional<int> TakeBestCandidate(const PlacementGroup& group, absl::Span<const int> candidates,
                                     const PlacementView& view) {
  return candidates[0];
}

constexpr PlacementRule kRules[] = {
    {"take-only-candidate", TakeOnlyCandidate},        // the constraints leave no choice
    {"metadata-follows-input", MetadataFollowsInput},  // a shape is cheaper to send than its tensor
    {"source-follows-users", SourceFollowsUsers},      // constants need not be sent at all
    {"take-best-candidate", TakeBestCandidate},        // the default task, a GPU before a CPU
};

}  // namespace

absl::Span<const PlacementRule> PlacementRules() { return kRules; }

PlacementPhase PhaseOf(const PlacementGroup& group) {
  if (group.nodes.size() == 1 && IsMetadata(*group.nodes[0])) return PlacementPhase::kMetadata;
  for (const Node* node : group.nodes) {
    if (!IsSource(*node)) return PlacementPhase::kOrdinary;
  }
  return PlacementPhase::kSource;
}

}  // namespace tensorfleet
