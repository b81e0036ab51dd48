#include "operator/plan/exit_events.h"

#include "absl/strings/str_cat.h"

namespace tensorfleet::plan {

void TellExit(Pass& pass, const api::Pod& pod) {
  if (!pod.exit_code) return;
  pass.Tell(EventType::kNormal, api::kExitedWithCodeReason,
            absl::StrCat("Pod: ", pass.job.namespace_, ".", pod.meta.name, " exited with code ",
                         *pod.exit_code));
}

}  // namespace tensorfleet::plan
