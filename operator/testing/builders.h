// Jobs, pods and snapshots for tests, in the words of a specification:
//
//   const Snapshot now =
//   SnapshotOf(TFJob("mnist").Ps(1).Workers(2).RestartPolicy("OnFailure").Started())
//                            .WithPod("mnist-worker-0", Running())
//                            .WithPod("mnist-worker-1", Failed(137))
//                            .At(30);
//
// Everything is built as JSON and read by the operator's own readers. Times are seconds after
// kStart. A wrong use (no such replica, broken JSON) ends the test program.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/plan/actions.h"
#include "operator/plan/snapshot.h"

namespace tensorfleet::testing {

inline constexpr char kNamespace[] = "ns";
inline constexpr char kJobUid[] = "job-uid";
// 2024-01-05T22:58:20Z
inline const absl::Time kStart = absl::FromUnixSeconds(1704495500);
inline absl::Time After(double seconds) { return kStart + absl::Seconds(seconds); }

class TFJob {
 public:
  explicit TFJob(absl::string_view name);
  TFJob(const TFJob& other);  // a job of its own
  TFJob& operator=(const TFJob&) = delete;

  TFJob& Chief(int replicas = 1) { return Replicas("Chief", replicas); }
  TFJob& Master(int replicas = 1) { return Replicas("Master", replicas); }
  TFJob& Ps(int replicas) { return Replicas("PS", replicas); }
  TFJob& Workers(int replicas) { return Replicas("Worker", replicas); }
  TFJob& Evaluator(int replicas = 1) { return Replicas("Evaluator", replicas); }
  TFJob& Replicas(absl::string_view type, int replicas);
  // Of all replica types given so far.
  TFJob& RestartPolicy(absl::string_view policy);
  TFJob& RunPolicy(absl::string_view field, absl::string_view json);
  TFJob& SuccessPolicy(absl::string_view policy);
  TFJob& DynamicWorkers();
  TFJob& Suspended(bool suspended = true);
  // Sets any field: With("/spec/failurePolicy/maxFailedWorkers", "2").
  TFJob& With(const std::string& json_pointer, absl::string_view json);
  TFJob& Without(const std::string& json_pointer);

  // status: conditions are appended as True, with the contract's reason, at `seconds`.
  TFJob& Condition(absl::string_view type, double seconds = 0);
  TFJob& FalseCondition(absl::string_view type, absl::string_view reason, double seconds = 0);
  // Created, with a start time.
  TFJob& Started(double seconds = 0);
  TFJob& Running() { return Started().Condition("Running"); }
  TFJob& Succeeded(double seconds = 0);
  TFJob& Failed(double seconds = 0, absl::string_view message = "");
  TFJob& Status(const api::TFJobStatus& status);

  const nlohmann::json& json() const { return *json_; }
  std::string name() const;
  std::shared_ptr<const api::TFJob> Build() const;

 private:
  std::shared_ptr<nlohmann::json> json_;
};

// Changes an object in the making.
using Change = std::function<void(nlohmann::json&)>;

Change Pending();
Change Running();  // and Ready
Change RunningNotReady();
Change Succeeded();  // exit code 0
Change Failed(int exit_code);
Change Evicted();     // phase Failed, reason Evicted, no exit code
Change NoExitCode();  // container statuses taken away
Change Terminating(double grace_ends_at = 30);
Change OwnedBy(absl::string_view uid);
Change Orphaned();
Change Attempt(int attempt);
Change JobAttempt(int attempt);
Change RestartedInPlace(int times);
Change MadeAt(double seconds);
// Running, with a container that waits for nobody while container `tensorflow` has ended.
Change OnlySidecarsRun(int exit_code);
Change TrueCondition(absl::string_view type);
Change Annotated(absl::string_view key, absl::string_view value);
// A container that waits, as in CrashLoopBackOff.
Change Waiting(absl::string_view reason, absl::string_view message);

std::shared_ptr<const api::Pod> MakePod(absl::string_view job, absl::string_view name,
                                        const std::vector<Change>& changes);

class SnapshotOf {
 public:
  explicit SnapshotOf(const TFJob& job) : SnapshotOf(job.Build()) {}
  explicit SnapshotOf(std::shared_ptr<const api::TFJob> job);

  // `name` must be "<job>-<type>-<index>"; it gives the labels.
  template <typename... Changes>
  SnapshotOf& WithPod(absl::string_view name, Changes... changes) {
    return AddPod(name, {changes...});
  }
  template <typename... Changes>
  SnapshotOf& WithService(absl::string_view name, Changes... changes) {
    return AddService(name, {changes...});
  }
  // One for each replica of the spec.
  template <typename... Changes>
  SnapshotOf& WithAllPods(Changes... changes) {
    return AddAllPods({changes...});
  }
  SnapshotOf& WithAllServices();
  SnapshotOf& WithPodGroup(absl::string_view json_spec, absl::string_view phase,
                           std::vector<Change> changes = {});
  SnapshotOf& At(double seconds);

  const plan::Snapshot& Build() const { return snapshot_; }
  operator plan::Snapshot() const { return snapshot_; }

 private:
  SnapshotOf& AddPod(absl::string_view name, const std::vector<Change>& changes);
  SnapshotOf& AddService(absl::string_view name, const std::vector<Change>& changes);
  SnapshotOf& AddAllPods(const std::vector<Change>& changes);

  plan::Snapshot snapshot_;
};

// What the cluster would look like had the plan been carried out: created pods are Pending, deleted
// ones gone, status is stored. A deleted job has a deletion time.
plan::Snapshot Apply(const plan::Plan& plan, const plan::Snapshot& before);

// Names that the plan's actions of one kind are about, in order.
std::vector<std::string> Names(const plan::Plan& plan, plan::ActionKind kind);
std::vector<std::string> PodsCreated(const plan::Plan& plan);
std::vector<std::string> PodsDeleted(const plan::Plan& plan);
std::vector<std::string> ServicesCreated(const plan::Plan& plan);
std::vector<std::string> ServicesDeleted(const plan::Plan& plan);
// "Created,Running(False),Succeeded".
std::string ConditionsOf(const api::TFJobStatus& status);
// Reasons of the plan's events, in order.
std::vector<std::string> EventReasons(const plan::Plan& plan);
// The body of the create action for `name`; ends the program when there is none.
nlohmann::json BodyOf(const plan::Plan& plan, plan::ActionKind kind, absl::string_view name);

}  // namespace tensorfleet::testing
