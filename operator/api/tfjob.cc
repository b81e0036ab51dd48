#include "operator/api/tfjob.h"

#include <algorithm>

#include "operator/api/labels.h"
#include "operator/api/spec_reader.h"

namespace tensorfleet::api {
namespace {

// Documents nested deeper than any PodSpec are refused before they are written out again.
constexpr int kMaxTemplateDepth = 64;

// kubectl's own copy of the object, which nobody reads here.
constexpr char kLastApplied[] = "kubectl.kubernetes.io/last-applied-configuration";

ReplicaSpec ReadReplicaSpec(const Json& json, const std::string& path,
                            std::vector<FieldError>& errors) {
  ReplicaSpec spec;
  FieldReader reader(json, path, errors);
  spec.replicas = reader.Int32("replicas").value_or(1);
  spec.restart_policy =
      static_cast<RestartPolicy>(reader.Word("restartPolicy", kRestartPolicyWords).value_or(0));
  if (auto policy = reader.Word("cleanPodPolicy", kCleanPodPolicyWords)) {
    spec.clean_pod_policy = static_cast<CleanPodPolicy>(*policy);
  }
  const Json* pod_template = reader.Object("template");
  if (pod_template == nullptr) return spec;
  const std::string template_path = absl::StrCat(path, ".template");
  if (IsNestedDeeperThan(*pod_template, kMaxTemplateDepth)) {
    errors.push_back(Invalid(template_path, "object",
                             absl::StrCat("is nested deeper than ", kMaxTemplateDepth, " levels")));
    return spec;
  }
  spec.facts = ReadTemplateFacts(*pod_template, template_path, errors);
  spec.template_json = Dump(*pod_template);
  return spec;
}

// Keys are taken in any letter case. Of two spellings of one type the canonical one loses, as it
// always did; admission refuses such a job.
void ReadReplicaSpecs(const Json& specs, TFJobSpec& out, std::vector<FieldError>& errors) {
  for (const auto& [key, json] : specs.items()) {
    const std::string path = absl::StrCat("spec.tfReplicaSpecs[", key, "]");
    const auto type = ParseReplicaType(key);
    if (!type) {
      FieldError error = Unsupported(path, key, {"Chief", "Evaluator", "Master", "PS", "Worker"});
      error.tolerable_once_started = true;
      errors.push_back(std::move(error));
      continue;
    }
    if (!json.is_object()) {
      errors.push_back(
          Invalid(path, json.is_structured() ? json.type_name() : Dump(json), "must be an object"));
      continue;
    }
    auto& slot = out.replicas[static_cast<int>(*type)];
    if (slot.has_value()) {
      FieldError error = Forbidden(path, absl::StrCat("replica type ", CanonicalName(*type),
                                                      " is given twice, in different letter case"));
      error.tolerable_once_started = true;
      errors.push_back(std::move(error));
      if (key == CanonicalName(*type)) continue;
    }
    slot = ReadReplicaSpec(json, path, errors);
    slot->key = key;
  }
}

void ReadMetadata(const Json& metadata, TFJob& job) {
  job.namespace_ = StringMember(metadata, "namespace");
  job.uid = StringMember(metadata, "uid");
  job.resource_version = StringMember(metadata, "resourceVersion");
  job.creation_time = TimeMember(metadata, "creationTimestamp").value_or(absl::UnixEpoch());
  job.deletion_time = TimeMember(metadata, "deletionTimestamp");
  const Json* annotations = ObjectMember(metadata, "annotations");
  if (annotations == nullptr) return;
  for (const auto& [key, value] : annotations->items()) {
    if (key == kLastApplied || !value.is_string()) continue;
    job.annotations.emplace_back(key, value.get<std::string>());
  }
}

}  // namespace

TFJobSpec ReadSpec(const Json& json, std::vector<FieldError>& errors) {
  TFJobSpec spec;
  FieldReader reader(json, "spec", errors);
  if (const Json* run_policy = reader.Object("runPolicy")) {
    spec.run_policy = ReadRunPolicy(*run_policy, "spec.runPolicy", errors);
  }
  spec.success_policy = static_cast<SuccessPolicy>(
      reader.Word("successPolicy", kSuccessPolicyWords, /*tolerable_once_started=*/true)
          .value_or(0));
  spec.evaluator_in_cluster = reader.Bool("evaluatorInCluster").value_or(true);
  spec.enable_dynamic_worker = reader.Bool("enableDynamicWorker").value_or(false);
  spec.restart_scope =
      static_cast<RestartScope>(reader.Word("restartScope", kRestartScopeWords).value_or(0));
  spec.start_order =
      static_cast<StartOrder>(reader.Word("startOrder", kStartOrderWords).value_or(0));
  spec.replica_completion = static_cast<ReplicaCompletion>(
      reader.Word("replicaCompletion", kReplicaCompletionWords).value_or(0));
  if (const Json* policy = reader.Object("failurePolicy")) {
    spec.failure_policy = ReadFailurePolicy(*policy, "spec.failurePolicy", errors);
  }
  if (const Json* specs = reader.Object("tfReplicaSpecs")) {
    spec.has_replica_specs = true;
    ReadReplicaSpecs(*specs, spec, errors);
  }
  return spec;
}

int64_t TFJobSpec::total_replicas() const {
  int64_t total = 0;
  for (const auto& spec : replicas) total += spec ? std::max(spec->replicas, 0) : 0;
  return total;
}

StatusOr<TFJob> TFJobFromJson(const nlohmann::json& object) {
  const Json* metadata = ObjectMember(object, "metadata");
  if (metadata == nullptr) return InvalidArgument("object has no metadata");
  TFJob job;
  job.name = StringMember(*metadata, "name");
  if (job.name.empty()) return InvalidArgument("metadata.name is absent or not a string");
  ReadMetadata(*metadata, job);
  if (const Json* status = ObjectMember(object, "status"))
    job.status = TFJobStatusFromJson(*status);
  const Json* spec = Member(object, "spec");
  if (spec != nullptr && spec->is_object()) {
    job.spec = ReadSpec(*spec, job.parse_errors);
  } else if (spec != nullptr) {
    job.parse_errors.push_back(Invalid("spec", spec->type_name(), "must be an object"));
  }
  if (job.is_finished()) {
    for (auto& replica : job.spec.replicas) {
      if (replica) replica->template_json = {};
    }
  }
  return job;
}

absl::string_view CleanPodPolicyName(CleanPodPolicy policy) {
  return kCleanPodPolicyWords[static_cast<int>(policy)];
}

absl::string_view RestartPolicyName(RestartPolicy policy) {
  return kRestartPolicyWords[static_cast<int>(policy)];
}

}  // namespace tensorfleet::api
