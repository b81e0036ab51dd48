// Whether somebody else reconciles the same TFJobs: a training-operator, or another release of
// ours. Two that do make and delete each other's pods, so ours begins only when there is no other.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "operator/k8s/client.h"
#include "runtime/base/clock.h"

namespace tensorfleet::operator_main {

// What training-operator calls its Lease, and the label of the Deployment in its manifests.
inline constexpr char kReferenceLease[] = "1ca428e5.training-operator.kubeflow.org";
inline constexpr char kReferenceSelector[] = "control-plane=kubeflow-training-operator";

// Whether the Deployment runs, or is about to run, a training-operator that reconciles TFJobs of
// namespace `ns` (empty: of any): not when it has no replicas, when its --enable-scheme leaves
// TFJob out, or when its --namespace is another.
bool ReconcilesTFJobs(const nlohmann::json& deployment, const std::string& ns);

struct OtherControllersOptions {
  std::string ns;  // whose jobs we reconcile; empty: all
  std::string own_lease_namespace;
  std::string own_lease_name;
};

// Not thread-safe.
class OtherControllers {
 public:
  // Both must outlive the object.
  OtherControllers(k8s::Client* client, const Clock* clock, OtherControllersOptions options);

  // One that is active, such as "deployment kubeflow/training-operator"; empty when there is none.
  // A Lease counts while its holder may be alive: until it has not changed for the lease's
  // duration, as we have seen it, or at once when its last renewal was long ago. PermissionDenied:
  // our role does not let us look.
  StatusOr<std::string> Find();

 private:
  struct Seen {  // what a Lease said when it last changed, and when we saw that
    std::string record;
    std::chrono::steady_clock::time_point at;
  };

  StatusOr<std::string> FindDeployment();
  StatusOr<std::string> FindLease();
  bool IsAlive(const std::string& name, const nlohmann::json& lease);

  k8s::Client* const client_;
  const Clock* const clock_;
  const OtherControllersOptions options_;
  std::map<std::string, Seen> seen_;
  // Where a training-operator runs that leaves TFJobs alone: its Lease there tells nothing.
  std::set<std::string> harmless_;
};

}  // namespace tensorfleet::operator_main
