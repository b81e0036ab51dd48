// A TFJob: what the user asked for and what was last reported. Values only; no thread safety of its
// own.
//
// Parsing keeps what the rules need. A pod template stays as JSON text, so that every field of
// PodSpec passes through whatever the Kubernetes version, and costs a tenth of a parsed document;
// what the rules ask about it is extracted once, into TemplateFacts. The template of a finished job
// is dropped: no pod will be made from it again, and there may be tens of thousands of finished
// jobs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/time/time.h"
#include "operator/api/failure_policy.h"
#include "operator/api/fields/field_error.h"
#include "operator/api/replica_type.h"
#include "operator/api/tfjob_status.h"
#include "runtime/base/status.h"

namespace tensorfleet::api {

enum class CleanPodPolicy : uint8_t { kNone, kRunning, kAll };
enum class RestartPolicy : uint8_t { kNever, kAlways, kOnFailure, kExitCode };
enum class SuccessPolicy : uint8_t { kDefault, kAllWorkers };
enum class RestartScope : uint8_t { kReplica, kJob };
enum class StartOrder : uint8_t { kAny, kPsFirst };
enum class ReplicaCompletion : uint8_t { kPod, kContainer };

// What the rules ask of a pod template.
struct TemplateFacts {
  int32_t container_count = 0;
  bool has_tensorflow_container = false;
  bool has_restart_policy = false;  // it will be overwritten: a warning event says so
  int32_t port = 2222;              // of the port named tfjob-port, else the default
  std::string scheduler_name;       // empty when unset
  std::vector<int32_t> containers_without_image;
};

struct ReplicaSpec {
  std::string key;  // the type as the user wrote it, for messages
  int32_t replicas = 1;
  RestartPolicy restart_policy = RestartPolicy::kNever;
  // Overrides the job's policy for this type.
  std::optional<CleanPodPolicy> clean_pod_policy;
  std::string template_json = "{}";  // a PodTemplateSpec
  TemplateFacts facts;
};

struct SchedulingPolicy {
  std::optional<int32_t> min_available;
  std::string queue;
  std::map<std::string, std::string> min_resources;  // name -> quantity
  std::string priority_class;
  std::optional<int32_t> schedule_timeout_seconds;
};

struct RunPolicy {
  // Absent is not quite None: see operator/docs/fields.md.
  std::optional<CleanPodPolicy> clean_pod_policy;
  std::optional<int32_t> ttl_seconds_after_finished;
  std::optional<int64_t> active_deadline_seconds;  // from status.startTime
  std::optional<int32_t> backoff_limit;
  bool suspend = false;
  std::optional<std::string> managed_by;
  SchedulingPolicy scheduling;
};

struct TFJobSpec {
  RunPolicy run_policy;
  SuccessPolicy success_policy = SuccessPolicy::kDefault;
  bool enable_dynamic_worker = false;  // sparse TF_CONFIG; lost workers do not fail the job
  bool evaluator_in_cluster = true;    // evaluators are listed in TF_CONFIG's cluster
  RestartScope restart_scope = RestartScope::kReplica;
  StartOrder start_order = StartOrder::kAny;
  // Whether a replica has ended with its pod, or with its container `tensorflow` already.
  ReplicaCompletion replica_completion = ReplicaCompletion::kPod;
  FailurePolicy failure_policy;
  bool has_replica_specs = false;  // spec.tfReplicaSpecs is present and an object
  std::array<std::optional<ReplicaSpec>, kReplicaTypeCount> replicas;

  const ReplicaSpec* Find(ReplicaType type) const {
    const auto& spec = replicas[static_cast<int>(type)];
    return spec ? &*spec : nullptr;
  }
  // Over all types.
  int64_t total_replicas() const;
};

struct TFJob {
  std::string name;
  std::string namespace_;
  std::string uid;
  std::string resource_version;
  absl::Time creation_time;
  std::optional<absl::Time> deletion_time;
  // Without kubectl's copy of the whole object.
  std::vector<std::pair<std::string, std::string>> annotations;
  TFJobSpec spec;
  TFJobStatus status;
  // What could not be read: wrong types, unknown words, unknown replica types. Such a field has its
  // default; Validate() reports these together with the rules' own findings.
  std::vector<FieldError> parse_errors;

  bool is_finished() const { return status.IsTrue(kSucceeded) || status.IsTrue(kFailed); }
};

// Reads a TFJob with the defaults of the contract filled in (an absent `replicas` is 1, and so on).
// Fails only when there is no name to speak of; all else that is wrong is in `parse_errors`.
StatusOr<TFJob> TFJobFromJson(const nlohmann::json& object);

absl::string_view CleanPodPolicyName(CleanPodPolicy policy);
absl::string_view RestartPolicyName(RestartPolicy policy);

}  // namespace tensorfleet::api
