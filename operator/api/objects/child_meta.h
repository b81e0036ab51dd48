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
  std::string job_name;    // label; empty when absent
  std::string owner_uid;   // of the owner that is the controller; empty when there is none
  bool has_owner = false;  // of any kind
  // From the labels; nothing when they do not name one of our replicas.
  std::optional<ReplicaId> replica;
  // When the object is being deleted: the instant at which its grace period ends.
  std::optional<absl::Time> deletion_time;

  bool is_terminating() const { return deletion_time.has_value(); }
  bool IsControlledBy(absl::string_view uid) const { return !uid.empty() && owner_uid == uid; }
};

// Reads `object["metadata"]`; an error when it has no name. Everything else may be absent.
StatusOr<ChildMeta> ChildMetaFromJson(const nlohmann::json& object);

}  // namespace tensorfleet::api
