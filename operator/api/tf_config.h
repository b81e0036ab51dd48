// The TF_CONFIG variable: who the replica is and where its peers are. Byte for byte as Kubeflow's.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "operator/api/tfjob.h"

namespace tensorfleet::api {

// "<job>-<type>-<i>.<ns>.svc[.<domain>]:<port>"; `cluster_domain` may be empty.
std::string ReplicaAddress(const TFJob& job, ReplicaId replica, absl::string_view cluster_domain);

// Writes the variable for the replicas of one job. The list of peers is made once: it has as many
// lines as the job has replicas, each of which gets a copy. `job` must outlive it.
class TfConfigWriter {
 public:
  TfConfigWriter(const TFJob& job, absl::string_view cluster_domain);
  // Nothing for a job of one replica, which has no peers.
  std::optional<std::string> For(ReplicaId replica) const;

 private:
  std::string Sparse(ReplicaId replica) const;

  const TFJob& job_;
  const std::string domain_;
  const bool is_distributed_;
  std::string dense_cluster_;  // what stands between the braces
  std::string ps_list_;        // for the sparse form; "null" without parameter servers
};

}  // namespace tensorfleet::api
