// Pods that are one too many: beyond the number wanted, to be replaced, or on a lost node.
#include <algorithm>

#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {

Next ScaleIn(Pass& pass) {
  for (const auto& [id, pods] : pass.pods) {
    if (pass.IsWanted(id)) continue;
    for (const api::Pod* pod : pods) {
      // Should the number go up again before the pod is gone, its going is not a failure.
      if (!pod->is_finished() && !pass.IsStale(*pod)) {
        ++pass.status.replica_statuses[id.type].ignored_by_index[id.index];
      }
      pass.Delete(*pod);
    }
  }
  for (const auto& [id, service] : pass.services) {
    if (!pass.IsWanted(id)) pass.Delete(*service);
  }
  return Next::kContinue;
}

Next DeleteStale(Pass& pass) {
  const auto& timeout = pass.spec.failure_policy.lost_pod_timeout_seconds;
  for (const api::Pod* pod : pass.own_pods) {
    if (!pod->meta.is_terminating()) {
      if (pod->meta.replica && pass.IsWanted(*pod->meta.replica) && pass.IsStale(*pod)) {
        // One that still runs in our eyes may have ended well: then it has done its work.
        if (pod->is_finished()) {
          pass.Delete(*pod);
        } else {
          pass.DeleteAsSeen(*pod);
        }
      }
      continue;
    }
    if (!timeout) continue;
    const absl::Time due = *pod->meta.deletion_time + absl::Seconds(*timeout);
    if (pass.now.now >= due) {
      // Should its node be back, its last word counts.
      pass.Do({ActionKind::kDeletePod, pod->meta.name, pod->meta.uid, /*body=*/"", /*force=*/true,
               pod->meta.resource_version});
      // Forced deletion is asked for once more if the pod is still there after as long again.
      pass.LookAgainAt(pass.now.now + absl::Seconds(std::max(*timeout, 1)));
    } else {
      pass.LookAgainAt(due);
    }
  }
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
