// Pods that cannot start say so in their status; the user looks at the job, so it is told there.
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {

Next ReportTroubles(Pass& pass) {
  for (const api::Pod* pod : pass.own_pods) {
    if (pod->troubles == nullptr || pod->is_finished() || pod->meta.is_terminating()) continue;
    for (const api::PodTrouble& trouble : *pod->troubles) {
      pass.Tell(EventType::kWarning, trouble.reason, trouble.message);
    }
  }
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
