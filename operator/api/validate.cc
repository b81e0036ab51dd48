#include "operator/api/validate.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/api/fields/json_fields.h"
#include "operator/api/objects/labels.h"
#include "operator/api/tf_config.h"
#include "operator/api/values/index_set.h"

namespace tensorfleet::api {
namespace {

constexpr size_t kMaxNameLength = 63;  // of a DNS label, which a service's name must be

std::string Quoted(absl::string_view text) { return Dump(Json(std::string(text))); }

bool IsDns1035Label(absl::string_view name) {
  if (name.empty() || !absl::ascii_islower(name.front()) || name.back() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  });
}

void CheckName(const TFJob& job, std::vector<FieldError>& errors) {
  std::vector<std::string> details;
  if (job.name.size() > kMaxNameLength) details.push_back("must be no more than 63 characters");
  if (!IsDns1035Label(job.name)) {
    details.push_back(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', "
        "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
  }
  if (!details.empty()) {
    errors.push_back(Invalid("metadata.name", Quoted(job.name),
                             absl::StrCat("should match: ", absl::StrJoin(details, ","))));
    return;
  }
  // The longest child decides; its pod would exist, its service never.
  std::string longest;
  for (const ReplicaType type : kReplicaTypes) {
    const ReplicaSpec* spec = job.spec.Find(type);
    if (spec == nullptr || spec->replicas < 1) continue;
    std::string child = ReplicaName(job.name, {type, spec->replicas - 1});
    if (child.size() > longest.size()) longest = std::move(child);
  }
  if (longest.size() <= kMaxNameLength) return;
  FieldError error =
      Invalid("metadata.name", Quoted(job.name),
              absl::StrCat("is too long: the replica ", Quoted(longest), " would have a name of ",
                           longest.size(), " characters, and a service's name has at most ",
                           kMaxNameLength));
  errors.push_back(std::move(error));
}

void CheckManagedBy(const TFJob& job, std::vector<FieldError>& errors) {
  const auto& managed_by = job.spec.run_policy.managed_by;
  if (!managed_by || *managed_by == kManagedByUs || *managed_by == kManagedByMultiKueue) return;
  errors.push_back(
      Unsupported("spec.runPolicy.managedBy", *managed_by, {kManagedByUs, kManagedByMultiKueue}));
}

void CheckTemplate(const ReplicaSpec& spec, const std::string& path,
                   std::vector<FieldError>& errors) {
  const std::string containers = absl::StrCat(path, ".template.spec.containers");
  const TemplateFacts& facts = spec.facts;
  if (facts.container_count == 0) errors.push_back(Required(containers, "must be specified"));
  for (const int32_t index : facts.containers_without_image) {
    errors.push_back(Required(absl::StrCat(containers, "[", index, "].image"), "must be required"));
  }
  if (!facts.has_tensorflow_container) {
    errors.push_back(Required(
        containers, absl::StrCat("must have at least one container with name ", kContainerName)));
  }
}

void CheckReplicaSpec(ReplicaType type, const ReplicaSpec& spec, std::vector<FieldError>& errors) {
  const std::string path = absl::StrCat("spec.tfReplicaSpecs[", spec.key, "]");
  const std::string replicas = absl::StrCat(path, ".replicas");
  if (spec.replicas < 0) {
    errors.push_back(
        Invalid(replicas, absl::StrCat(spec.replicas), "must be greater than or equal to 0"));
  } else if (spec.replicas > kMaxReplicas) {
    errors.push_back(Invalid(replicas, absl::StrCat(spec.replicas),
                             absl::StrCat("must be no more than ", kMaxReplicas)));
  } else if (spec.replicas > 1 && (type == ReplicaType::kChief || type == ReplicaType::kMaster)) {
    FieldError error = Invalid(replicas, absl::StrCat(spec.replicas),
                               absl::StrCat("a job has at most one ", CanonicalName(type)));
    error.tolerable_once_started = true;
    errors.push_back(std::move(error));
  }
  CheckTemplate(spec, path, errors);
}

void CheckReplicaSpecs(const TFJob& job, std::vector<FieldError>& errors) {
  constexpr char kPath[] = "spec.tfReplicaSpecs";
  if (!job.spec.has_replica_specs) {
    errors.push_back(Required(kPath, "must be required"));
    return;
  }
  bool any = false;
  for (const ReplicaType type : kReplicaTypes) {
    const ReplicaSpec* spec = job.spec.Find(type);
    if (spec == nullptr) continue;
    any = true;
    CheckReplicaSpec(type, *spec, errors);
  }
  if (!any) {
    errors.push_back(
        Required(kPath, "must have at least one of Chief, Evaluator, Master, PS and Worker"));
  }
  if (job.spec.Find(ReplicaType::kChief) != nullptr &&
      job.spec.Find(ReplicaType::kMaster) != nullptr) {
    errors.push_back(Forbidden(kPath, "must not have more than 1 Chief or Master role"));
  }
}

// Linux takes at most 32 pages for one variable of a process, with its name and a zero: a container
// with more than that cannot be started.
constexpr int64_t kMaxVariableBytes = 128 * 1024;

void CheckTfConfig(const TFJob& job, absl::string_view domain, std::vector<FieldError>& errors) {
  // Made only where it may be too large.
  const int64_t line =
      static_cast<int64_t>(job.name.size() + job.namespace_.size() + domain.size()) +
      40;  // type, index, ".svc", port, quotes
  const int64_t replicas = job.spec.total_replicas();
  if (replicas <= 0 || replicas > int64_t{kReplicaTypeCount} * kMaxReplicas ||
      replicas * line < kMaxVariableBytes - 1024) {
    return;
  }
  const TfConfigWriter writer(job, domain);
  for (const ReplicaType type : kReplicaTypes) {
    const ReplicaSpec* spec = job.spec.Find(type);
    if (spec == nullptr || spec->replicas < 1 || spec->replicas > kMaxReplicas) continue;
    const auto value = writer.For({type, spec->replicas - 1});
    const int64_t bytes = value ? static_cast<int64_t>(value->size() + sizeof("TF_CONFIG=")) : 0;
    if (bytes <= kMaxVariableBytes) continue;
    errors.push_back(Forbidden(
        "spec.tfReplicaSpecs",
        absl::StrCat("TF_CONFIG would have ", bytes, " bytes for ", replicas,
                     " replicas, and a variable of a process at most ", kMaxVariableBytes,
                     ": use fewer replicas, a shorter name, or enableDynamicWorker, which names "
                     "only parameter servers")));
    return;
  }
}

void CheckImmutable(const TFJob& old_job, const TFJob& job, std::vector<FieldError>& errors) {
  const auto& managed_by = job.spec.run_policy.managed_by;
  if (managed_by != old_job.spec.run_policy.managed_by) {
    errors.push_back(Invalid("spec.runPolicy.managedBy", Quoted(managed_by.value_or("null")),
                             "field is immutable"));
  }
  const std::string& queue = job.spec.run_policy.scheduling.queue;
  const std::string& old_queue = old_job.spec.run_policy.scheduling.queue;
  if (!queue.empty() && !old_queue.empty() && queue != old_queue) {
    constexpr char kPath[] = "spec.runPolicy.schedulingPolicy.queue";
    errors.push_back(Invalid(kPath, Quoted(queue), absl::StrCat(kPath, " is immutable")));
  }
}

}  // namespace

std::vector<FieldError> Validate(const TFJob& job, absl::string_view cluster_domain) {
  std::vector<FieldError> errors;
  CheckName(job, errors);
  errors.insert(errors.end(), job.parse_errors.begin(), job.parse_errors.end());
  CheckManagedBy(job, errors);
  CheckReplicaSpecs(job, errors);
  CheckTfConfig(job, cluster_domain, errors);
  return errors;
}

std::vector<FieldError> ValidateUpdate(const TFJob& old_job, const TFJob& job,
                                       absl::string_view cluster_domain) {
  std::vector<FieldError> errors;
  CheckImmutable(old_job, job, errors);
  if (job.deletion_time || old_job.is_finished()) return errors;
  const std::vector<FieldError> before = Validate(old_job, cluster_domain);
  for (FieldError& error : Validate(job, cluster_domain)) {
    // What an older operator let in, and was not touched, is no reason to refuse another change.
    const bool was_there = std::find(before.begin(), before.end(), error) != before.end();
    if (was_there && error.tolerable_once_started) continue;
    errors.push_back(std::move(error));
  }
  return errors;
}

}  // namespace tensorfleet::api
