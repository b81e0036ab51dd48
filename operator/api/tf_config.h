// The TF_CONFIG variable: who the replica is and where its peers are. Byte for byte as Kubeflow's.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "operator/api/tfjob.h"

namespace tensorfleet::api {

// "<job>-<type>-<i>.<ns>.svc[.<domain>]:<port>"; `cluster_domain` may be empty.
std::string ReplicaAddress(const TFJob& job, ReplicaId replica, absl::string_view cluster_domain);

// Nothing for a job of one replica, which has no peers.
std::optional<std::string> TfConfig(const TFJob& job, ReplicaId replica,
                                    absl::string_view cluster_domain);

}  // namespace tensorfleet::api
