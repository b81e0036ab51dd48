#include "operator/plan/status_change.h"

#include <algorithm>

namespace tensorfleet::plan {
namespace {

using api::TFJobStatus;

bool RecordsReplacements(const TFJobStatus& from, const TFJobStatus& to) {
  if (from.job_restarts != to.job_restarts) return true;
  for (const auto& [type, replica] : to.replica_statuses) {
    const auto old = from.replica_statuses.find(type);
    const bool same = old != from.replica_statuses.end()
                          ? old->second.restarts_by_index == replica.restarts_by_index &&
                                old->second.ignored_by_index == replica.ignored_by_index
                          : replica.restarts_by_index.empty() && replica.ignored_by_index.empty();
    if (!same) return true;
  }
  return false;
}

// Pods of one job become Running one after the other. While some are missing, the news can wait for
// the rest.
bool OnlyStartedRunning(const TFJobStatus& from, const TFJobStatus& to) {
  if (from.IsTrue(api::kRunning) || !to.IsTrue(api::kRunning)) return false;
  const auto without = [](const TFJobStatus& status) {
    std::vector<api::Condition> rest;
    for (const api::Condition& condition : status.conditions) {
      if (condition.type != api::kRunning && condition.type != api::kRestarting) {
        rest.push_back(condition);
      }
    }
    return rest;
  };
  return without(from) == without(to);
}

bool AllAreActive(const Pass& pass) {
  int64_t active = 0;
  for (const auto& [type, replica] : pass.status.replica_statuses) active += replica.active;
  return active >= pass.spec.total_replicas();
}

StatusWrite Urgency(const Pass& pass) {
  const TFJobStatus& from = pass.job.status;
  const TFJobStatus& to = pass.status;
  if (pass.must_confirm_job) return StatusWrite::kFirst;
  if (from == to) return StatusWrite::kNone;
  if (RecordsReplacements(from, to)) return StatusWrite::kFirst;
  if (from.start_time != to.start_time || from.completion_time != to.completion_time) {
    return StatusWrite::kNow;
  }
  if (from.conditions == to.conditions) return StatusWrite::kSoon;
  return OnlyStartedRunning(from, to) && !AllAreActive(pass) ? StatusWrite::kSoon
                                                             : StatusWrite::kNow;
}

// A chief may report many times a second; alone that is written only now and then.
void ThrottleProgress(Pass& pass) {
  const auto& old = pass.job.status.progress;
  if (!old || !old->time || old == pass.status.progress) return;
  const absl::Time due = *old->time + pass.options.progress_interval;
  if (pass.now.now >= due) return;
  TFJobStatus without = pass.status;
  without.progress = old;
  if (!(without == pass.job.status)) return;
  pass.status.progress = old;
  pass.LookAgainAt(due);
}

}  // namespace

void SettleStatus(Pass& pass) {
  ThrottleProgress(pass);
  pass.plan.status_write = Urgency(pass);
  pass.plan.status = std::move(pass.status);
}

}  // namespace tensorfleet::plan
