// A task's part in collectives, beyond single steps: the groups that its devices belong to and what
// was agreed in them, both also as the leader of others. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/base/mutex.h"
#include "runtime/base/timer_queue.h"
#include "runtime/collective/group_table.h"
#include "runtime/collective/instance_table.h"
#include "runtime/session/worker/collective/member_watch.h"
#include "runtime/session/worker/collective/step_sequences.h"
#include "runtime/session/worker/worker_session.h"

namespace tensorfleet {

class WorkerCollectives {
 public:
  struct Options {
    // A member that has not answered for so long is taken for dead.
    std::chrono::milliseconds member_silence{5'000};
    // For how long an op waits for the group's other members to join where it says nothing itself.
    std::chrono::milliseconds group_patience = std::chrono::minutes(10);
    std::string leader;  // where a session's configuration names none; empty: see CollectiveLeader
  };
  explicit WorkerCollectives(const Options& options)
      : options_(options),
        watch_(std::make_shared<MemberWatch>(&timers_, options.member_silence)) {}

  template <typename T>
  using DoneWith = WorkerInterface::DoneWith<T>;

  // What other members ask of this task as their leader.
  void CompleteGroup(const CallOptions& options, const tensorflow::CompleteGroupRequest& request,
                     const DoneWith<tensorflow::CompleteGroupResponse>& done);
  void CompleteInstance(const CallOptions& options,
                        const tensorflow::CompleteInstanceRequest& request,
                        const DoneWith<tensorflow::CompleteInstanceResponse>& done);

  // Where a step of a session is: this task's name there and its leader's.
  struct Place {
    std::shared_ptr<WorkerSession> session;
    std::string leader;
    int64_t step_id = 0;
    bool leads() const { return leader == session->task(); }
  };
  // The group of an op, as it was found before, or as the leader says. `calls` ends the waiting and
  // outlives it.
  void FindGroup(const Place& place, const CollectiveArgs& args, CancellationManager* calls,
                 DoneWith<collective::GroupRef> done);
  // Tells the leader what the op does; gives the rank of a broadcast's source. What was agreed upon
  // once is not asked again until it changes.
  void Agree(const Place& place, const collective::GroupRef& group, const CollectiveArgs& args,
             CancellationManager* calls, DoneWith<int> done);
  // An op of the group has failed: the leader is asked again. `is_outdated`: a member is not the
  // one that has joined, so nobody can use the group; where this task leads, it is gathered anew.
  void Forget(const collective::GroupRef& group, bool is_outdated);
  // For messages: who has joined, where this task knows it.
  std::string DescribeGroup(const Place& place, int32_t group_key) const;
  // Whether the leader has answered before; else it may not have started yet.
  bool HasHeardFrom(const std::string& leader) const;
  void HeardFrom(const std::string& leader);

  const Options& options() const { return options_; }
  TimerQueue* timers() { return &timers_; }
  MemberWatch* watch() { return watch_.get(); }
  StepSequences* sequences() { return &sequences_; }

 private:
  struct Agreement {
    std::string what;
    int source_rank = 0;
  };
  using AgreementKey = std::tuple<int32_t, int32_t, std::string>;  // group, instance, device

  StatusOr<collective::GroupRef> Remember(const tensorflow::CompleteGroupResponse& response,
                                          const CollectiveArgs& args);

  const Options options_;
  TimerQueue timers_;
  const std::shared_ptr<MemberWatch> watch_;
  collective::GroupTable groups_;
  collective::InstanceTable instances_;
  StepSequences sequences_;

  mutable Mutex mu_;
  absl::flat_hash_map<int32_t, collective::GroupRef> known_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<AgreementKey, Agreement> agreed_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<std::string> heard_from_ ABSL_GUARDED_BY(mu_);
};

// The task that leads the collectives of a session: what its configuration says, else task 0 of
// chief or worker, else `own_task`.
std::string CollectiveLeader(const tensorflow::ConfigProto& config, const ClusterSpec& cluster,
                             const std::string& own_task);

}  // namespace tensorfleet
