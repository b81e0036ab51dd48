// A pod, cut down to what the rules look at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "operator/api/objects/child_meta.h"

namespace tensorfleet::api {

enum class PodPhase : uint8_t { kUnknown, kPending, kRunning, kSucceeded, kFailed };
absl::string_view PodPhaseName(PodPhase phase);

// Something a user should hear of, ready to be an event of type Warning.
struct PodTrouble {
  std::string reason;
  std::string message;
  bool operator==(const PodTrouble&) const = default;
};

struct Pod {
  ChildMeta meta;
  // A pod that ended well only after its deletion was asked for was stopped, not finished: it
  // counts as kRunning until it is gone.
  PodPhase phase = PodPhase::kUnknown;
  bool is_ready = false;  // condition Ready is True
  // Container `tensorflow` has ended for good and is what counts, so that `phase` says how, but
  // other containers run on. Never read: a plan sets it, see TFJobSpec::replica_completion.
  bool has_running_sidecars = false;
  int32_t restart_count = 0;  // in place, over init and main containers
  int32_t attempt = 0;        // kAttemptAnnotation
  int32_t job_attempt = 0;    // kJobAttemptAnnotation
  // Of the container `tensorflow`, when it is in state terminated.
  std::optional<int32_t> exit_code;
  absl::Time creation_time = absl::InfiniteFuture();  // infinite: not known
  std::string reason;                                 // status.reason, such as Evicted or NodeLost
  std::string progress;                               // kProgressAnnotation, as it stands
  // Shared and usually null: conditions beyond the everyday ones that are True (DisruptionTarget),
  // and containers that wait or died with a reason.
  std::shared_ptr<const std::vector<std::string>> true_conditions;
  std::shared_ptr<const std::vector<PodTrouble>> troubles;

  bool is_finished() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
};

StatusOr<Pod> PodFromJson(const nlohmann::json& object);

}  // namespace tensorfleet::api
