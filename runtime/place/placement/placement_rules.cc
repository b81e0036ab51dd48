#include "runtime/place/placement/placement_rules.h"

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
  return node.num_inputs() == 1 && node.Is(NodeKind::kShapeQuestion);
}

// Whether others take references or handles from the group: it is where the state is.
bool OffersState(const PlacementGroup& group, bool (*is_state)(DType)) {
  return std::any_of(group.nodes.begin(), group.nodes.end(), [&](const Node* node) {
    return std::any_of(node->output_types().begin(), node->output_types().end(), is_state);
  });
}

bool ReadsReference(const PlacementGroup& group) {
  return std::any_of(group.nodes.begin(), group.nodes.end(), [](const Node* node) {
    return std::any_of(node->in_edges().begin(), node->in_edges().end(), [](const Edge* edge) {
      return !edge->is_control() && IsRef(edge->src->output_type(edge->src_output));
    });
  });
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

// A reference is read when its reader runs, after all that the reader waits for; one that has to be
// sent to its reader is read before.
std::optional<int> ReaderFollowsReference(const PlacementGroup& group,
                                          absl::Span<const int> candidates,
                                          const PlacementView& view) {
  if (group.request.job || group.request.task) return {};
  if (OffersState(group, [](DType type) { return IsRef(type) || type == DType::kResource; })) {
    return {};
  }
  for (const Node* node : group.nodes) {
    for (const Edge* edge : node->in_edges()) {
      if (edge->is_control() || !IsRef(edge->src->output_type(edge->src_output))) continue;
      const int device = view.DeviceOf(*edge->src);
      if (device < 0) continue;
      if (const std::optional<int> same = IfCandidate(device, candidates)) return same;
      for (const int candidate : candidates) {
        const DeviceName& task = view.devices.device(candidate).parsed;
        if (task.IsSameTask(view.devices.device(device).parsed)) return candidate;
      }
    }
  }
  return {};
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

std::optional<int> FollowNeighbours(const PlacementGroup& group, absl::Span<const int> candidates,
                                    const PlacementView& view) {
  if (view.drawn.empty() || group.holds_state) return {};
  const int drawn = view.drawn[view.groups.group_of[group.nodes[0]->id()]];
  if (drawn < 0) return {};
  for (const int candidate : candidates) {
    if (view.devices.task(candidate) == view.devices.task(drawn)) return candidate;
  }
  return {};
}

std::optional<int> TakeBestCandidate(const PlacementGroup& group, absl::Span<const int> candidates,
                                     const PlacementView& view) {
  return candidates[0];
}

constexpr PlacementRule kRules[] = {
    {"take-only-candidate", TakeOnlyCandidate},            // the constraints leave no choice
    {"reader-follows-reference", ReaderFollowsReference},  // or it would see an older value
    {"metadata-follows-input", MetadataFollowsInput},  // a shape is cheaper to send than its tensor
    {"source-follows-users", SourceFollowsUsers},      // constants need not be sent at all
    {"follow-neighbours", FollowNeighbours},           // as little as possible is sent
    {"take-best-candidate", TakeBestCandidate},        // the default task, a GPU before a CPU
};

}  // namespace

absl::Span<const PlacementRule> PlacementRules() { return kRules; }

PlacementPhase PhaseOf(const PlacementGroup& group) {
  if (group.holds_state || OffersState(group, IsRef)) return PlacementPhase::kState;
  if (ReadsReference(group)) return PlacementPhase::kReader;
  if (group.nodes.size() == 1 && IsMetadata(*group.nodes[0])) return PlacementPhase::kMetadata;
  for (const Node* node : group.nodes) {
    if (!IsSource(*node)) return PlacementPhase::kOrdinary;
  }
  return PlacementPhase::kSource;
}

}  // namespace tensorfleet
