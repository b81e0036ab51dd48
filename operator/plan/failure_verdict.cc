#include "operator/plan/failure_verdict.h"

#include <algorithm>

namespace tensorfleet::plan {
namespace {

using api::FailureAction;
using api::FailureRule;
using api::Pod;
using api::RestartPolicy;

// Exit codes from here on are signals: the process was killed rather than gave up.
constexpr int kFirstRetryableExitCode = 128;

bool HasCondition(const Pod& pod, const std::string& type) {
  return pod.true_conditions != nullptr &&
         std::find(pod.true_conditions->begin(), pod.true_conditions->end(), type) !=
             pod.true_conditions->end();
}

template <typename T>
bool Contains(const std::vector<T>& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool Matches(const FailureRule& rule, const Pod& pod) {
  if (!rule.replica_types.empty() && !Contains(rule.replica_types, pod.meta.replica->type)) {
    return false;
  }
  if (!rule.exit_codes.empty()) {
    if (!pod.exit_code || *pod.exit_code == 0) return false;
    if (Contains(rule.exit_codes, *pod.exit_code) == rule.exit_codes_not_in) return false;
  }
  if (rule.pod_conditions.empty()) return true;
  return std::any_of(rule.pod_conditions.begin(), rule.pod_conditions.end(),
                     [&](const std::string& type) { return HasCondition(pod, type); });
}

const FailureRule* FirstMatch(const Pass& pass, const Pod& pod) {
  for (const FailureRule& rule : pass.spec.failure_policy.rules) {
    if (Matches(rule, pod)) return &rule;
  }
  return nullptr;
}

Verdict ByRestartPolicy(const api::ReplicaSpec& spec, const Pod& pod) {
  switch (spec.restart_policy) {
    case RestartPolicy::kNever:
      return Verdict::kFail;
    case RestartPolicy::kAlways:
    case RestartPolicy::kOnFailure:
      return Verdict::kRestart;
    case RestartPolicy::kExitCode:
      // Without a code the container never came to an end of its own.
      if (!pod.exit_code || *pod.exit_code >= kFirstRetryableExitCode) return Verdict::kRestart;
      return Verdict::kFailPermanently;
  }
  return Verdict::kFail;
}

Verdict ByRule(FailureAction action) {
  switch (action) {
    case FailureAction::kFailJob:
      return Verdict::kFail;
    case FailureAction::kRestart:
      return Verdict::kRestart;
    case FailureAction::kRestartJob:
      return Verdict::kRestartJob;
    case FailureAction::kIgnore:
      return Verdict::kIgnore;
  }
  return Verdict::kFail;
}

bool IsOverItsRestarts(const Pass& pass, const Pod& pod) {
  const auto& limit = pass.spec.failure_policy.max_restarts_per_replica;
  if (!limit) return false;
  const auto status = pass.status.replica_statuses.find(pod.meta.replica->type);
  if (status == pass.status.replica_statuses.end()) return *limit == 0;
  const auto& counts = status->second.restarts_by_index;
  const auto count = counts.find(pod.meta.replica->index);
  return (count == counts.end() ? 0 : count->second) >= *limit;
}

}  // namespace

bool IsDisrupted(const Pod& pod) {
  if (pod.meta.is_terminating() || HasCondition(pod, "DisruptionTarget")) return true;
  // The kubelet gives a reason when it ends a pod itself; DeadlineExceeded is the template's own
  // limit.
  return pod.phase == api::PodPhase::kFailed && !pod.exit_code && !pod.reason.empty() &&
         pod.reason != "DeadlineExceeded";
}

bool IsFailedByRule(const Pass& pass, const Pod& pod) {
  const FailureRule* rule = FirstMatch(pass, pod);
  return rule != nullptr && rule->action == FailureAction::kFailJob;
}

Verdict JudgePod(const Pass& pass, const api::ReplicaSpec& spec, const Pod& pod) {
  const bool together = pass.spec.restart_scope == api::RestartScope::kJob;
  const FailureRule* rule = FirstMatch(pass, pod);
  Verdict verdict;
  if (rule != nullptr) {
    verdict = ByRule(rule->action);
  } else if (IsDisrupted(pod) && spec.restart_policy != RestartPolicy::kNever) {
    verdict = together ? Verdict::kRestartJob : Verdict::kIgnore;
  } else {
    verdict = ByRestartPolicy(spec, pod);
  }
  if (verdict == Verdict::kRestart && together) verdict = Verdict::kRestartJob;
  if (verdict == Verdict::kRestart && IsOverItsRestarts(pass, pod)) verdict = Verdict::kFail;
  return verdict;
}

}  // namespace tensorfleet::plan
