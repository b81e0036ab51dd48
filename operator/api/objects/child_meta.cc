#include "operator/api/objects/child_meta.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "operator/api/fields/json_fields.h"
#include "operator/api/objects/labels.h"

namespace tensorfleet::api {
namespace {

std::optional<ReplicaId> ReplicaFromLabels(const Json& labels) {
  const std::string type = StringMember(labels, kReplicaTypeLabel);
  const std::string index = StringMember(labels, kReplicaIndexLabel);
  const auto parsed = ParseReplicaType(type);
  ReplicaId replica;
  if (!parsed || type != LowerName(*parsed)) return std::nullopt;
  replica.type = *parsed;
  if (!absl::SimpleAtoi(index, &replica.index) || replica.index < 0) return std::nullopt;
  return replica;
}

// The replica of `job` whose pod and service are called `name`.
std::optional<ReplicaId> ReplicaFromName(absl::string_view job, absl::string_view name) {
  if (!absl::ConsumePrefix(&name, job) || !absl::ConsumePrefix(&name, "-")) return std::nullopt;
  const size_t dash = name.rfind('-');
  if (dash == absl::string_view::npos) return std::nullopt;
  ReplicaId replica;
  const auto type = ParseReplicaType(name.substr(0, dash));
  if (!type || name.substr(0, dash) != LowerName(*type)) return std::nullopt;
  replica.type = *type;
  const absl::string_view index = name.substr(dash + 1);
  if (!absl::SimpleAtoi(index, &replica.index) || index != absl::StrCat(replica.index)) {
    return std::nullopt;
  }
  return replica;
}

}  // namespace

StatusOr<ChildMeta> ChildMetaFromJson(const nlohmann::json& object) {
  const Json* metadata = ObjectMember(object, "metadata");
  if (metadata == nullptr) return InvalidArgument("object has no metadata");
  ChildMeta meta;
  meta.name = StringMember(*metadata, "name");
  if (meta.name.empty()) return InvalidArgument("metadata.name is absent or not a string");
  meta.namespace_ = StringMember(*metadata, "namespace");
  meta.uid = StringMember(*metadata, "uid");
  meta.resource_version = StringMember(*metadata, "resourceVersion");
  meta.deletion_time = TimeMember(*metadata, "deletionTimestamp");
  std::string owner_job;
  for (const Json& owner : ArrayMember(*metadata, "ownerReferences")) {
    meta.has_owner = true;
    if (!BoolMember(owner, "controller")) continue;
    meta.owner_uid = StringMember(owner, "uid");
    if (StringMember(owner, "kind") == kKind) owner_job = StringMember(owner, "name");
  }
  const Json* labels = ObjectMember(*metadata, "labels");
  if (labels != nullptr) {
    meta.job_name = StringMember(*labels, kJobNameLabel);
    meta.replica = ReplicaFromLabels(*labels);
  }
  if (const auto named = ReplicaFromName(owner_job, meta.name); named) {
    meta.has_other_labels = meta.job_name != owner_job || meta.replica != named;
    meta.job_name = std::move(owner_job);
    meta.replica = named;
  }
  return meta;
}

}  // namespace tensorfleet::api
