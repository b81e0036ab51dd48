#include "operator/api/replica_type.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tensorfleet::api {
namespace {
constexpr const char* kNames[] = {"Chief", "Evaluator", "Master", "PS", "Worker"};
constexpr const char* kLowerNames[] = {"chief", "evaluator", "master", "ps", "worker"};
}  // namespace

absl::string_view CanonicalName(ReplicaType type) { return kNames[static_cast<int>(type)]; }
absl::string_view LowerName(ReplicaType type) { return kLowerNames[static_cast<int>(type)]; }

std::optional<ReplicaType> ParseReplicaType(absl::string_view name) {
  for (const ReplicaType type : kReplicaTypes) {
    if (absl::EqualsIgnoreCase(name, CanonicalName(type))) return type;
  }
  return std::nullopt;
}

std::string ReplicaName(absl::string_view job, ReplicaId replica) {
  return absl::StrCat(job, "-", LowerName(replica.type), "-", replica.index);
}

}  // namespace tensorfleet::api
