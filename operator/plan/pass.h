// One reconcile in the making: what is seen, sorted by replica, and what has been decided so far.
// Steps read the first and add to the second; nothing outlives the call of Reconcile.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "operator/plan/actions.h"
#include "operator/plan/snapshot.h"

namespace tensorfleet::plan {

enum class Next { kContinue, kStop };

// Why a replica's pod has to be replaced, or that it cannot be.
enum class Verdict : uint8_t {
  kTolerated,        // stays failed; the job goes on without it
  kRestart,          // replaced, and counted
  kRestartJob,       // all replicas replaced, and counted
  kIgnore,           // replaced, not counted
  kFail,             // the job fails
  kFailPermanently,  // likewise, because of an exit code that no restart mends
};

struct FailedReplica {
  api::ReplicaId id;
  const api::Pod* pod = nullptr;
  Verdict verdict = Verdict::kFail;
};

class Pass {
 public:
  // Both must outlive the pass.
  Pass(const Snapshot& snapshot, const Options& options);

  // What is seen.
  const Snapshot& now;
  const Options& options;
  const api::TFJob& job;
  const api::TFJobSpec& spec;
  // The job's own pods and services that are a replica's. A slot has one of each, save for
  // accidents; those without any owner are here too, to be adopted.
  std::map<api::ReplicaId, std::vector<const api::Pod*>> pods;
  std::map<api::ReplicaId, const api::Service*> services;
  std::vector<const api::Pod*> own_pods;          // also those of no replica
  std::vector<const api::Service*> own_services;  // likewise
  // Names that somebody else holds; true when that object is on its way out.
  std::map<std::string, bool> foreign_pods;
  std::map<std::string, bool> foreign_services;

  // What is decided.
  api::TFJobStatus status;
  Plan plan;
  std::vector<FailedReplica> failures;
  // Actions that undo what the job may want again by now (it was suspended, as far as is seen) wait
  // for a write of status, which fails when the job has changed.
  bool must_confirm_job = false;

  absl::Time seconds() const { return seconds_; }  // now, as a timestamp can say it
  bool IsWanted(api::ReplicaId id) const;          // the spec has a replica of that number
  // The replica's pod, or null when there is none (or, by accident, two).
  const api::Pod* PodOf(api::ReplicaId id) const;
  // True when the pod did its work before its replacement, together with all others, was decided:
  // its end was not known then.
  bool EndedWellUnseen(const api::Pod& pod) const;
  // How often the replica was replaced: a pod's attempt annotation must say as much, or it is
  // stale.
  int AttemptOf(api::ReplicaId id) const;
  bool IsStale(const api::Pod& pod) const;
  bool HasSucceeded(api::ReplicaId id) const;
  // The type whose end is the job's end: Chief or Master when there is one, else Worker; nothing
  // when there is none of them.
  std::optional<api::ReplicaType> DecidingType() const;

  void Do(Action action) { plan.actions.push_back(std::move(action)); }
  // Deletes what is not being deleted yet.
  void Delete(const api::Pod& pod);
  void Delete(const api::Service& service);
  // Likewise, unless the pod has changed since it was seen: for decisions that rest on its state. A
  // cache may be behind, that of an operator that has just taken over more than others.
  void DeleteAsSeen(const api::Pod& pod);
  void DeletePodGroup();
  void Tell(EventType type, absl::string_view reason, std::string message);
  // Look again at `time`, if nothing asks for an earlier look.
  void LookAgainAt(absl::Time time);
  // Sets a condition by the contract's algorithm; true when that changed something.
  bool Set(absl::string_view type, bool is_true, absl::string_view reason, std::string message);
  // Ends the job: condition, completion time, event and counter.
  void Succeed();
  void Fail(absl::string_view reason, std::string message);
  // Like Fail, with an event of type Warning.
  void FailWithWarning(absl::string_view reason, std::string message);

 private:
  void FailAs(EventType type, absl::string_view reason, std::string message);
  void End();

  // Has no owner, and every mark of a replica of this job: its owner was deleted without it.
  bool IsToBeAdopted(const api::ChildMeta& meta) const;
  // Whether the pod counts as ended though some of its containers run on.
  bool HasEndedButForSidecars(const api::Pod& pod) const;
  // The pod as rules are to see it.
  const api::Pod* Seen(const api::Pod& pod);

  const absl::Time seconds_;
  std::vector<std::unique_ptr<const api::Pod>> copies_;  // of pods that rules see otherwise
};

// "3 replicas wanted" and the like: what status.ready shows.
std::string ReadyText(int64_t ready, int64_t wanted);

// The text of the Failed condition of a job that ran into its deadline.
std::string DeadlineMessage(const api::TFJob& job);
std::string BackoffMessage(const api::TFJob& job);
// What the message begins with when a pod has been Pending for too long.
std::string PendingMessagePrefix(const api::TFJob& job);

}  // namespace tensorfleet::plan
