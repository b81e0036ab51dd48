#include "operator/api/objects/child_meta.h"

#include "absl/strings/numbers.h"
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
  for (const Json& owner : ArrayMember(*metadata, "ownerReferences")) {
    meta.has_owner = true;
    if (BoolMember(owner, "controller")) meta.owner_uid = StringMember(owner, "uid");
  }
  if (const Json* labels = ObjectMember(*metadata, "labels")) {
    meta.job_name = StringMember(*labels, kJobNameLabel);
    meta.replica = ReplicaFromLabels(*labels);
  }
  return meta;
}

}  // namespace tensorfleet::api
