// spec.failurePolicy: which failures count, and how many may be borne. Absent in the reference's
// YAML; the defaults here leave its behaviour as it is. Field by field: operator/docs/fields.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/replica_type.h"

namespace tensorfleet::api {

enum class FailureAction : uint8_t {
  kFailJob,     // the job fails at once
  kRestart,     // the replica is replaced and the failure counts against the limits
  kRestartJob,  // all replicas are replaced together; counts
  kIgnore,      // the replica is replaced; does not count
};

// Matches a failed pod when all that is given holds.
struct FailureRule {
  FailureAction action = FailureAction::kFailJob;
  std::vector<ReplicaType> replica_types;  // empty: any
  // Exit codes of container `tensorflow`; `exit_codes_not_in` inverts. Empty: not asked.
  std::vector<int32_t> exit_codes;
  bool exit_codes_not_in = false;
  // Pod conditions that are True, such as DisruptionTarget; any of them matches. Empty: not asked.
  std::vector<std::string> pod_conditions;
};

struct FailurePolicy {
  std::vector<FailureRule> rules;  // the first match decides; without one, restartPolicy does
  // Failed workers that the job bears, as a number or a percentage of the workers (rounded down).
  std::optional<int32_t> max_failed_workers;
  std::optional<int32_t> max_failed_workers_percent;
  std::optional<int32_t> max_restarts_per_replica;
  // A pod still there this long after its grace period ended (its node is lost) is deleted by
  // force.
  std::optional<int32_t> lost_pod_timeout_seconds;
  // A pod still Pending this long after it was made fails the job.
  std::optional<int32_t> pending_timeout_seconds;
};

}  // namespace tensorfleet::api
