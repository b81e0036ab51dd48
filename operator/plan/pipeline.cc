#include "operator/plan/pipeline.h"

#include "operator/plan/status_change.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

struct Step {
  const char* name;
  Next (*run)(Pass&);
};

// Runs in order until a step stops. Whatever was decided until then is applied, and status is
// written, on every path.
constexpr Step kPipeline[] = {
    {"skip-foreign", SkipForeign},          // another controller's job, or one being deleted
    {"settle-finished", SettleFinished},    // job over: release what the policy says, mind its TTL
    {"note-created", NoteCreated},          // condition Created
    {"refuse-invalid", RefuseInvalid},      // a spec that can never run fails with the field's path
    {"suspend", Suspend},                   // no pods while suspended
    {"resume", Resume},                     // from scratch, once the old pods are on their way out
    {"start-clock", StartClock},            // status.startTime
    {"report-troubles", ReportTroubles},    // events about pods that cannot start
    {"count-replicas", CountReplicas},      // replicaStatuses, finished indices, readiness
    {"take-progress", TakeProgress},        // what the chief says about its step
    {"judge-success", JudgeSuccess},        // successPolicy; a finished job cannot fail any more
    {"enforce-deadline", EnforceDeadline},  // activeDeadlineSeconds
    {"enforce-pending-timeout", EnforcePendingTimeout},  // failurePolicy.pendingTimeoutSeconds
    {"judge-failures", JudgeFailures},  // restart and failure policies: what becomes of each
    {"enforce-backoff-limit", EnforceBackoffLimit},  // backoffLimit
    {"restart-failed", RestartFailed},     // write down what is replaced; condition Restarting
    {"show-running", ShowRunning},         // condition Running
    {"scale-in", ScaleIn},                 // replicas beyond the number wanted
    {"delete-stale", DeleteStale},         // pods that are to be replaced, or whose node is lost
    {"ensure-pod-group", EnsurePodGroup},  // gang scheduling: the group comes before its pods
    {"ensure-services", EnsureServices},   // names exist before the pods that use them
    {"ensure-pods", EnsurePods},           // one pod per unfinished replica
};

}  // namespace

Plan Reconcile(const Snapshot& snapshot, const Options& options) {
  Pass pass(snapshot, options);
  for (const Step& step : kPipeline) {
    if (step.run(pass) == Next::kContinue) continue;
    pass.plan.stopped_by = step.name;
    break;
  }
  SettleStatus(pass);
  return std::move(pass.plan);
}

std::vector<absl::string_view> StepNames() {
  std::vector<absl::string_view> names;
  for (const Step& step : kPipeline) names.push_back(step.name);
  return names;
}

}  // namespace tensorfleet::plan
