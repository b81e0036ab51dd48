// Condition Running: the replicas that decide are active, and nothing that was to be replaced is
// still missing.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

bool IsBack(const Pass& pass, api::ReplicaId id) {
  if (pass.HasSucceeded(id)) return true;
  const api::Pod* pod = pass.PodOf(id);
  return pod != nullptr && pod->phase == api::PodPhase::kRunning && !pass.IsStale(*pod) &&
         !pod->meta.is_terminating();
}

bool IsRestarting(const FailedReplica& failed) {
  return failed.verdict == Verdict::kRestart || failed.verdict == Verdict::kRestartJob ||
         failed.verdict == Verdict::kIgnore;
}

bool AllReplacedAreBack(const Pass& pass) {
  for (const auto& [type, status] : pass.status.replica_statuses) {
    for (const auto* counts : {&status.restarts_by_index, &status.ignored_by_index}) {
      for (const auto& [index, count] : *counts) {
        if (pass.IsWanted({type, index}) && !IsBack(pass, {type, index})) return false;
      }
    }
  }
  return true;
}

}  // namespace

Next ShowRunning(Pass& pass) {
  const auto type = pass.DecidingType();
  if (!type || pass.status.replica_statuses[*type].active == 0) return Next::kContinue;
  if (std::any_of(pass.failures.begin(), pass.failures.end(), IsRestarting)) return Next::kContinue;
  if (pass.status.IsTrue(api::kRestarting) && !AllReplacedAreBack(pass)) return Next::kContinue;
  pass.Set(api::kRunning, true, api::kRunningReason,
           absl::StrCat("TFJob ", pass.job.namespace_, "/", pass.job.name, " is running."));
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
