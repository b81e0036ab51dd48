// What the operator keeps of the metadata of a pod, service or pod group. Small on purpose: the
// caches hold one for each of tens of thousands of objects.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/api/replica_type.h"
#include "runtime/base/status.h"

namespace tensorfleet::api {

struct ChildMeta {
  std::string name;
  std::string namespace_;
  std::string uid;
  std::string resource_version;
  // The job it belongs to and the replica that it is: by its owner and its name, which nobody can
  // edit; without an owner by its labels. Empty when there is neither.
  std::string job_name;
  std::string owner_uid;   // of the owner that is the controller; empty when there is none
  bool has_owner = false;  // of any kind
  // Nothing when neither name nor labels are those of one of our replicas.
  std::optional<ReplicaId> replica;
  bool has_other_labels = false;  // than a replica of that job and name is to have
  // When the object is being deleted: the instant at which its grace period ends.
  std::optional<absl::Time> deletion_time;

  bool is_terminating() const { return deletion_time.has_value(); }
  bool IsControlledBy(absl::string_view uid) const { return !uid.empty() && owner_uid == uid; }
};

// Reads `object["metadata"]`; an error when it has no name. Everything else may be absent.
StatusOr<ChildMeta> ChildMetaFromJson(const nlohmann::json& object);

}  // namespace tensorfleet::api
