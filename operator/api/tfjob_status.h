// status of a TFJob: the contract's fields, and ours (restarts, finished indices, progress).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/api/conditions.h"
#include "operator/api/replica_type.h"

namespace tensorfleet::api {

struct Condition {
  std::string type;
  bool is_true = false;
  std::string reason;
  std::string message;
  std::optional<absl::Time> last_update_time;
  std::optional<absl::Time> last_transition_time;
  bool operator==(const Condition&) const = default;
};

struct ReplicaStatus {
  int32_t active = 0;
  int32_t succeeded = 0;
  int32_t failed = 0;
  std::string selector;  // label selector in text form, for the scale subresource
  // Ours: which indices have succeeded. They are never run again, also when their pods are gone.
  std::set<int32_t> succeeded_indexes;
  // Ours: index -> how often the replica was replaced because it failed.
  std::map<int32_t, int32_t> restarts_by_index;
  // Ours: index -> how often it was replaced without counting (failurePolicy action Ignore).
  std::map<int32_t, int32_t> ignored_by_index;
  bool operator==(const ReplicaStatus&) const = default;
};

// What the chief said about itself.
struct Progress {
  std::optional<int64_t> step;
  std::string checkpoint;
  std::optional<double> steps_per_second;
  std::optional<double> examples_per_second;
  std::optional<absl::Time> time;  // when the operator took it over
  bool operator==(const Progress&) const = default;
};

struct TFJobStatus {
  std::vector<Condition> conditions;
  std::map<ReplicaType, ReplicaStatus> replica_statuses;
  std::optional<absl::Time> start_time;
  std::optional<absl::Time> completion_time;
  std::optional<absl::Time> last_reconcile_time;
  // Ours.
  std::string ready;         // "3/5": ready replicas of those wanted
  int32_t restarts = 0;      // replaced pods and in-place restarts, over all replicas
  int32_t job_restarts = 0;  // how often all replicas were restarted together
  std::optional<Progress> progress;

  const Condition* Find(absl::string_view type) const;
  bool IsTrue(absl::string_view type) const;
  bool operator==(const TFJobStatus&) const = default;
};

// Reads what it can; fields of a wrong type are left out.
TFJobStatus TFJobStatusFromJson(const nlohmann::json& status);
// The object to write to the status subresource: complete, zero counts omitted.
nlohmann::json ToJson(const TFJobStatus& status);

}  // namespace tensorfleet::api
