// failurePolicy.pendingTimeoutSeconds: a pod that cannot start (no node, no image, no volume) must
// not keep the resources of the others waiting for it for ever.
#include "absl/strings/str_cat.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

constexpr size_t kMaxDetail = 512;

std::string Message(const Pass& pass, const api::Pod& pod, int seconds) {
  std::string message =
      absl::StrCat(PendingMessagePrefix(pass.job), pod.meta.name,
                   ", which was pending for longer than pendingTimeoutSeconds (", seconds, ")");
  if (pod.troubles != nullptr && !pod.troubles->empty()) {
    const api::PodTrouble& first = pod.troubles->front();
    absl::StrAppend(&message, ": ", first.reason, ": ", first.message.substr(0, kMaxDetail));
  }
  return message;
}

}  // namespace

Next EnforcePendingTimeout(Pass& pass) {
  const auto& limit = pass.spec.failure_policy.pending_timeout_seconds;
  if (!limit) return Next::kContinue;
  for (const auto& [id, pods] : pass.pods) {
    if (!pass.IsWanted(id) || pass.HasSucceeded(id)) continue;
    for (const api::Pod* pod : pods) {
      if (pod->phase != api::PodPhase::kPending || pod->meta.is_terminating()) continue;
      const absl::Time due = pod->creation_time + absl::Seconds(*limit);
      if (pass.IsStale(*pod) || due == absl::InfiniteFuture()) continue;
      if (pass.now.now < due) {
        pass.LookAgainAt(due);
        continue;
      }
      pass.FailWithWarning(api::kFailedReason, Message(pass, *pod, *limit));
      return Next::kStop;
    }
  }
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
