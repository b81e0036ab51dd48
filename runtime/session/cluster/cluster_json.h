// The JSON that describes clusters: the "cluster" object alone, and TF_CONFIG around it.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/session/cluster/cluster_spec.h"

namespace tensorfleet {

// What TF_CONFIG says: the cluster and which of its entries is this process.
struct TfConfig {
  ClusterSpec cluster;
  std::string job;
  int task = 0;
  std::string rpc_layer;  // "grpc" unless set

  // Takes {"cluster": {...}, "task": {"type": ..., "index": ...}} and the operator's sparse form,
  // where "sparseCluster" lists only the peers that this task talks to. The cluster has an entry
  // for this task, except that an evaluator may be left out. Errors: InvalidArgument, naming the
  // part at fault.
  static StatusOr<TfConfig> Parse(absl::string_view json);
};

}  // namespace tensorfleet
