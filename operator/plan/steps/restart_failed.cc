// Replacing is written down before it is done: from then on the old pod is stale, however often and
// by whomever it is looked at, and no failure counts twice.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/plan/exit_events.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

// For people: all replaced pods, and restarts in place of those that exist.
int32_t TotalRestarts(const Pass& pass) {
  int64_t sum = pass.status.job_restarts;
  for (const auto& [type, status] : pass.status.replica_statuses) {
    for (const auto& [index, count] : status.restarts_by_index) sum += count;
  }
  for (const api::Pod* pod : pass.own_pods) sum += pod->restart_count;
  sum = std::max<int64_t>(sum, pass.status.restarts);
  return static_cast<int32_t>(std::min<int64_t>(sum, INT32_MAX));
}

// Returns false for a failure that nothing is done about.
bool WriteDown(Pass& pass, const FailedReplica& failed) {
  api::ReplicaStatus& status = pass.status.replica_statuses[failed.id.type];
  switch (failed.verdict) {
    case Verdict::kRestart:
      ++status.restarts_by_index[failed.id.index];
      return true;
    case Verdict::kIgnore:
      ++status.ignored_by_index[failed.id.index];
      return true;
    case Verdict::kRestartJob:
      // Once for all that failed together.
      if (pass.status.job_restarts == pass.job.status.job_restarts) ++pass.status.job_restarts;
      return true;
    case Verdict::kTolerated:
    case Verdict::kFail:
    case Verdict::kFailPermanently:
      return false;
  }
  return false;
}

}  // namespace

Next RestartFailed(Pass& pass) {
  std::optional<api::ReplicaType> first;
  for (const FailedReplica& failed : pass.failures) {
    if (!WriteDown(pass, failed)) continue;
    if (!first) first = failed.id.type;
    TellExit(pass, *failed.pod);
    ++pass.plan.counters.restarted;
    ++pass.plan.counters.failed_pods;
  }
  pass.status.restarts = TotalRestarts(pass);
  if (!first) return Next::kContinue;
  if (pass.status.job_restarts != pass.job.status.job_restarts) {
    // Nobody's work is done before everybody's is.
    for (auto& [type, status] : pass.status.replica_statuses) status.succeeded_indexes.clear();
  }
  const std::string message = absl::StrCat("job ", pass.job.name, " is restarting because ",
                                           api::CanonicalName(*first), " replica(s) failed.");
  pass.Set(api::kRestarting, true, api::kRestartingReason, message);
  pass.Tell(EventType::kWarning, api::kRestartingReason, message);
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
