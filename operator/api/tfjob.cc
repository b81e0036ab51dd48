#include "operator/api/tfjob.h"

#include <algorithm>

#include "operator/api/fields/spec_reader.h"
#include "operator/api/objects/labels.h"

namespace tensorfleet::api {
namespace {

// kubectl's own copy of the object, which nobody reads here.
constexpr char kLastApplied[] = "kubectl.kubernetes.io/last-applied-configuration";

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
