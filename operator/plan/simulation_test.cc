// A small cluster played by dice: pods move through their phases, are evicted, killed and
// collected, the operator dies between any two of its actions and looks at old caches. Whatever
// happens, the promises hold. A failing seed is printed and can be run again alone.
#include <algorithm>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using testing::Change;
using testing::TFJob;

class Cluster {
 public:
  Cluster(TFJob job, uint32_t seed) : random_(seed), snapshot_(testing::SnapshotOf(job)) {}

  // One look by the operator and one turn of the world.
  void Step(bool calm) {
    Look(calm);
    snapshot_.now += absl::Seconds(Dice(3));
    Check();
    for (size_t i = 0; i < snapshot_.pods.size(); ++i) Turn(i, calm);
    Collect();
  }

  bool is_finished() const { return snapshot_.job->is_finished(); }
  bool is_settled() const {
    const Plan plan = Reconcile(snapshot_);
    return plan.actions.empty() && plan.status_write == StatusWrite::kNone;
  }
  size_t pod_count() const { return snapshot_.pods.size(); }
  const api::TFJobStatus& status() const { return snapshot_.job->status; }
  void Replace(const TFJob& job) {
    auto changed = std::make_shared<api::TFJob>(*job.Build());
    changed->status = snapshot_.job->status;
    snapshot_.job = std::move(changed);
  }

 private:
  int Dice(int sides) { return std::uniform_int_distribution<int>(0, sides - 1)(random_); }

  void Look(bool calm) {
    Snapshot seen = snapshot_;
    // A cache that lags behind: pods as they were, status never older than what we wrote ourselves.
    if (!calm && last_seen_.job != nullptr && Dice(5) == 0) seen.pods = last_seen_.pods;
    last_seen_ = snapshot_;
    const Plan plan = Reconcile(seen);
    // Killed in between: with the status first or last, and any part of the actions.
    const bool status_written = calm || Dice(6) != 0;
    if (plan.status_write == StatusWrite::kFirst && !status_written) return;
    if (status_written && plan.status_write != StatusWrite::kNone) Store(plan.status);
    for (const Action& action : plan.actions) {
      if (calm || Dice(6) != 0) Carry(action);
    }
  }

  void Store(const api::TFJobStatus& status) {
    auto job = std::make_shared<api::TFJob>(*snapshot_.job);
    job->status = api::TFJobStatusFromJson(ToJson(status));
    snapshot_.job = std::move(job);
  }

  bool Exists(const std::string& name) const {
    return std::any_of(snapshot_.pods.begin(), snapshot_.pods.end(),
                       [&](const auto& pod) { return pod->meta.name == name; });
  }

  // As the API server would: names are unique, deletes have a precondition and take their time.
  void Carry(const Action& action) {
    if (action.kind == ActionKind::kCreatePod) {
      if (Exists(action.name)) return;
      ASSERT_EQ(finished_.count(action.name), 0u)
          << action.name << " is run again though it has finished";
    }
    if (action.kind == ActionKind::kDeletePod) {
      for (auto& pod : snapshot_.pods) {
        if (pod->meta.uid == action.uid) Terminate(pod);
      }
      return;
    }
    Plan one;
    one.status = snapshot_.job->status;
    one.actions.push_back(action);
    snapshot_ = testing::Apply(one, snapshot_);
    if (action.kind != ActionKind::kCreatePod) return;
    api::Pod made = *snapshot_.pods.back();
    made.meta.uid = "uid-" + std::to_string(++serial_);
    snapshot_.pods.back() = std::make_shared<const api::Pod>(std::move(made));
  }

  void Terminate(std::shared_ptr<const api::Pod>& pod) {
    if (pod->meta.is_terminating()) return;
    api::Pod going = *pod;
    going.meta.deletion_time = snapshot_.now + absl::Seconds(30);
    pod = std::make_shared<const api::Pod>(std::move(going));
  }

  void Turn(size_t i, bool calm) {
    api::Pod pod = *snapshot_.pods[i];
    if (pod.is_finished()) return;
    const int dice = Dice(20);
    if (pod.phase == api::PodPhase::kPending && dice < 12) {
      pod.phase = api::PodPhase::kRunning;
      pod.is_ready = true;
    } else if (pod.phase == api::PodPhase::kRunning && !calm && dice < 2) {
      pod.phase = api::PodPhase::kFailed;
      pod.is_ready = false;
      const int codes[] = {1, 2, 137, 143, 255};
      pod.exit_code = codes[Dice(5)];
    } else if (pod.phase == api::PodPhase::kRunning && !calm && dice == 3) {
      pod.phase = api::PodPhase::kFailed;
      pod.is_ready = false;
      pod.reason = "Evicted";
    } else if (pod.phase == api::PodPhase::kRunning && dice >= 15 &&
               pod.meta.replica->type != api::ReplicaType::kPs) {
      pod.phase = api::PodPhase::kSucceeded;
      pod.is_ready = false;
      pod.exit_code = 0;
    } else if (!calm && dice == 4) {
      pod.meta.deletion_time = snapshot_.now + absl::Seconds(30);  // somebody drains the node
    }
    snapshot_.pods[i] = std::make_shared<const api::Pod>(std::move(pod));
  }

  // Terminating pods go; finished ones are collected now and then, but only after the operator had
  // a chance to see them.
  void Collect() {
    auto& pods = snapshot_.pods;
    pods.erase(std::remove_if(pods.begin(), pods.end(),
                              [&](const auto& pod) {
                                if (!pod->meta.is_terminating() &&
                                    !(pod->is_finished() && WasNoted(*pod))) {
                                  return false;
                                }
                                return Dice(3) == 0;
                              }),
               pods.end());
  }

  bool WasNoted(const api::Pod& pod) const {
    const auto it = status().replica_statuses.find(pod.meta.replica->type);
    return pod.phase == api::PodPhase::kSucceeded && it != status().replica_statuses.end() &&
           it->second.succeeded_indexes.count(pod.meta.replica->index) > 0;
  }

  void Check() {
    const bool succeeded = status().IsTrue("Succeeded");
    const bool failed = status().IsTrue("Failed");
    EXPECT_FALSE(succeeded && failed) << "both Succeeded and Failed";
    EXPECT_FALSE(was_succeeded_ && !succeeded) << "Succeeded was taken back";
    EXPECT_FALSE(was_failed_ && !failed) << "Failed was taken back";
    was_succeeded_ = succeeded;
    was_failed_ = failed;
    EXPECT_FALSE((succeeded || failed) && status().IsTrue("Running")) << "finished, yet Running";
    EXPECT_EQ((succeeded || failed), status().completion_time.has_value());
    EXPECT_FALSE(status().IsTrue("Running") && status().IsTrue("Restarting"));
    std::set<std::string> names;
    for (const auto& pod : snapshot_.pods) {
      EXPECT_TRUE(names.insert(pod->meta.name).second) << pod->meta.name << " was created twice";
    }
    for (const auto& [type, replica] : status().replica_statuses) {
      for (const int32_t index : replica.succeeded_indexes) {
        finished_.insert(api::ReplicaName("j", {type, index}));
      }
    }
    EXPECT_GE(status().restarts, restarts_) << "the number of restarts went down";
    restarts_ = status().restarts;
  }

  std::mt19937 random_;
  Snapshot snapshot_;
  Snapshot last_seen_;
  std::set<std::string> finished_;
  bool was_succeeded_ = false;
  bool was_failed_ = false;
  int restarts_ = 0;
  int serial_ = 0;
};

struct Kind {
  const char* name;
  TFJob (*job)();
};

const Kind kKinds[] = {
    {"Never", [] { return TFJob("j").Ps(1).Workers(3); }},
    {"ExitCode", [] { return TFJob("j").Ps(1).Workers(3).RestartPolicy("ExitCode"); }},
    {"OnFailure",
     [] {
       return TFJob("j").Ps(1).Workers(3).RestartPolicy("OnFailure").SuccessPolicy("AllWorkers");
     }},
    {"Chief",
     [] { return TFJob("j").Chief().Ps(1).Workers(2).Evaluator().RestartPolicy("OnFailure"); }},
    {"Backoff",
     [] {
       return TFJob("j")
           .Workers(4)
           .RestartPolicy("OnFailure")
           .RunPolicy("backoffLimit", "3")
           .SuccessPolicy("AllWorkers");
     }},
    {"Deadline",
     [] {
       return TFJob("j")
           .Workers(4)
           .RestartPolicy("OnFailure")
           .RunPolicy("activeDeadlineSeconds", "40")
           .SuccessPolicy("AllWorkers");
     }},
    {"Dynamic", [] { return TFJob("j").Ps(1).Workers(4).DynamicWorkers(); }},
    {"BearsTwo",
     [] {
       return TFJob("j")
           .Workers(5)
           .SuccessPolicy("AllWorkers")
           .With("/spec/failurePolicy/maxFailedWorkers", "2");
     }},
    {"CleansAll",
     [] {
       return TFJob("j")
           .Ps(1)
           .Workers(3)
           .RestartPolicy("OnFailure")
           .RunPolicy("cleanPodPolicy", "\"All\"");
     }},
};

class Simulation : public ::testing::TestWithParam<Kind> {};

TEST_P(Simulation, KeepsItsPromises) {
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Cluster cluster(GetParam().job(), seed);
    for (int step = 0; step < 40; ++step) cluster.Step(/*calm=*/false);
    // Once the storm is over the job comes to its end, and then to rest.
    for (int step = 0; step < 200 && !cluster.is_finished(); ++step) cluster.Step(/*calm=*/true);
    EXPECT_TRUE(cluster.is_finished());
    for (int step = 0; step < 60 && !cluster.is_settled(); ++step) cluster.Step(/*calm=*/true);
    EXPECT_TRUE(cluster.is_settled());
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Simulation, ::testing::ValuesIn(kKinds),
                         [](const auto& info) { return info.param.name; });

TEST(SimulationOfScaling, NeverFailsTheJob) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    Cluster cluster(TFJob("j").Ps(1).Workers(3).SuccessPolicy("AllWorkers"), seed);
    for (int step = 0; step < 30 && !cluster.is_finished(); ++step) {
      cluster.Step(/*calm=*/true);
      const int workers = 1 + static_cast<int>(random() % 5);
      cluster.Replace(TFJob("j").Ps(1).Workers(workers).SuccessPolicy("AllWorkers"));
    }
    EXPECT_FALSE(cluster.status().IsTrue("Failed"));
  }
}

TEST(SimulationOfZeroReplicas, IsSteady) {
  Cluster cluster(TFJob("j").Ps(0).Workers(0), 1);
  for (int step = 0; step < 50; ++step) cluster.Step(/*calm=*/true);
  EXPECT_EQ(cluster.pod_count(), 0u);
  EXPECT_TRUE(cluster.is_settled());
  EXPECT_FALSE(cluster.is_finished());
}

}  // namespace
}  // namespace tensorfleet::plan
