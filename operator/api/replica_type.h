// The replica types a TFJob may have, and the names of the replicas made from them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet::api {

// In the alphabetical order of their names: the order in which rules visit types, and that of the
// keys in TF_CONFIG.
enum class ReplicaType : uint8_t { kChief, kEvaluator, kMaster, kPs, kWorker };

inline constexpr int kReplicaTypeCount = 5;
inline constexpr std::array<ReplicaType, kReplicaTypeCount> kReplicaTypes = {
    ReplicaType::kChief, ReplicaType::kEvaluator, ReplicaType::kMaster, ReplicaType::kPs,
    ReplicaType::kWorker};

// "Chief", "PS", ...: the keys of spec.tfReplicaSpecs and status.replicaStatuses.
absl::string_view CanonicalName(ReplicaType type);
// "chief", "ps", ...: in object names, label values and TF_CONFIG.
absl::string_view LowerName(ReplicaType type);
// Accepts any letter case; nothing for other names.
std::optional<ReplicaType> ParseReplicaType(absl::string_view name);

struct ReplicaId {
  ReplicaType type = ReplicaType::kWorker;
  int index = 0;
  auto operator<=>(const ReplicaId&) const = default;
};

// The name shared by a replica's pod and service: "<job>-<type>-<index>".
std::string ReplicaName(absl::string_view job, ReplicaId replica);

}  // namespace tensorfleet::api
