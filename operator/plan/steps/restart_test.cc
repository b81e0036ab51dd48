// The four restart policies, lost pods, and the memory of what was replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using testing::After;
using testing::Apply;
using testing::Attempt;
using testing::ConditionsOf;
using ::testing::ElementsAre;
using testing::EventReasons;
using testing::Evicted;
using testing::Failed;
using ::testing::IsEmpty;
using testing::NoExitCode;
using testing::Pending;
using testing::PodsCreated;
using testing::PodsDeleted;
using testing::Running;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::Terminating;
using testing::TFJob;
using testing::TrueCondition;

enum class Fate { kReplaced, kFailsTheJob };

struct Row {
  const char* name;
  const char* policy;
  testing::Change pod;
  Fate fate;
};

class RestartPolicies : public ::testing::TestWithParam<Row> {
 protected:
  Snapshot Now() const {
    return SnapshotOf(TFJob("j").Workers(2).RestartPolicy(GetParam().policy).Running())
        .WithPod("j-worker-0", Running())
        .WithPod("j-worker-1", GetParam().pod)
        .WithAllServices();
  }
};

TEST_P(RestartPolicies, DecideWhatBecomesOfAFailedPod) {
  const Plan plan = Reconcile(Now());
  if (GetParam().fate == Fate::kReplaced) {
    EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-1"));
    EXPECT_EQ(ConditionsOf(plan.status), "Created,Restarting");
  } else {
    EXPECT_THAT(plan.actions, IsEmpty());
    EXPECT_EQ(ConditionsOf(plan.status), "Created,Running(False),Failed");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, RestartPolicies,
    ::testing::Values(Row{"NeverExit1", "Never", Failed(1), Fate::kFailsTheJob},
                      Row{"NeverExit137", "Never", Failed(137), Fate::kFailsTheJob},
                      Row{"NeverEvicted", "Never", Evicted(), Fate::kFailsTheJob},
                      Row{"AlwaysExit1", "Always", Failed(1), Fate::kReplaced},
                      Row{"AlwaysEvicted", "Always", Evicted(), Fate::kReplaced},
                      Row{"OnFailureExit1", "OnFailure", Failed(1), Fate::kReplaced},
                      Row{"OnFailureEvicted", "OnFailure", Evicted(), Fate::kReplaced},
                      Row{"ExitCode1", "ExitCode", Failed(1), Fate::kFailsTheJob},
                      Row{"ExitCode127", "ExitCode", Failed(127), Fate::kFailsTheJob},
                      Row{"ExitCode128", "ExitCode", Failed(128), Fate::kReplaced},
                      Row{"ExitCode130", "ExitCode", Failed(130), Fate::kReplaced},
                      Row{"ExitCode137", "ExitCode", Failed(137), Fate::kReplaced},
                      Row{"ExitCode255", "ExitCode", Failed(255), Fate::kReplaced},
                      Row{"ExitCodeZeroYetFailed", "ExitCode", Failed(0), Fate::kFailsTheJob},
                      Row{"ExitCodeEvicted", "ExitCode", Evicted(), Fate::kReplaced}),
    [](const auto& info) { return info.param.name; });

TEST(Never, FailsTheJobWithTheNumberOfFailedReplicas) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(3).Running())
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Failed(1))
                                  .WithPod("j-worker-2", Failed(1))
                                  .At(9));
  EXPECT_EQ(plan.status.conditions.back().message,
            "TFJob ns/j has failed because 2 Worker replica(s) failed.");
  EXPECT_EQ(plan.status.conditions.back().reason, "TFJobFailed");
  EXPECT_EQ(plan.status.completion_time, After(9));
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).failed, 2);
  EXPECT_EQ(plan.counters.failed, 1);
  EXPECT_THAT(EventReasons(plan), ElementsAre("ExitedWithCode", "TFJobFailed"));
  EXPECT_EQ(plan.events[1].type, EventType::kNormal);
}

TEST(ExitCode, APermanentCodeFailsTheJobWithAWarning) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(1).RestartPolicy("ExitCode").Running())
                    .WithPod("j-ps-0", Failed(2))
                    .WithPod("j-worker-0", Running()));
  EXPECT_EQ(plan.status.conditions.back().message,
            R"(job "j" is failing because "PS" replica(s) failed.)");
  EXPECT_THAT(EventReasons(plan), ElementsAre("ExitedWithCode", "TFJobFailed"));
  EXPECT_EQ(plan.events[1].type, EventType::kWarning);
}

TEST(ExitCode, APermanentCodeAfterARestartStillStampsTheEnd) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(1).RestartPolicy("ExitCode").Started().Condition("Restarting"))
          .WithPod("j-worker-0", Failed(1)));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running(False),Failed");
  EXPECT_TRUE(plan.status.completion_time);
}

TEST(ExitCode, OfAMissingContainerIsRetryable) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).RestartPolicy("ExitCode").Running())
                                  .WithPod("j-worker-0", Failed(1), NoExitCode()));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-0"));
}

TEST(Restart, IsToldOfAndCounted) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(2).RestartPolicy("ExitCode").Running())
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Failed(137)));
  EXPECT_EQ(plan.status.conditions.back().message,
            "job j is restarting because Worker replica(s) failed.");
  EXPECT_THAT(EventReasons(plan), ElementsAre("ExitedWithCode", "TFJobRestarting"));
  EXPECT_EQ(plan.events[0].message, "Pod: ns.j-worker-1 exited with code 137");
  EXPECT_EQ(plan.events[1].type, EventType::kWarning);
  EXPECT_EQ(plan.counters.restarted, 1);
  EXPECT_EQ(plan.status.restarts, 1);
}

TEST(Restart, IsWrittenDownBeforeThePodIsDeleted) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).RestartPolicy("ExitCode").Running())
                                  .WithPod("j-worker-0", Failed(137)));
  EXPECT_EQ(plan.status_write, StatusWrite::kFirst);
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).restarts_by_index,
            (std::map<int32_t, int32_t>{{0, 1}}));
}

// Killed between the status write and the deletion, or looking at an old cache: nothing counts
// twice.
TEST(Restart, OfOnePodCountsOnceHoweverOftenItIsSeen) {
  const Snapshot before = SnapshotOf(TFJob("j").Workers(1).RestartPolicy("ExitCode").Running())
                              .WithPod("j-worker-0", Failed(137));
  const Plan first = Reconcile(before);
  Snapshot again = Apply(first, before);
  again.pods = before.pods;
  const Plan second = Reconcile(again);
  EXPECT_THAT(PodsDeleted(second), ElementsAre("j-worker-0"));
  EXPECT_EQ(second.status.restarts, 1);
  EXPECT_NE(second.status_write, StatusWrite::kFirst);
  EXPECT_EQ(second.counters.restarted, 0);
  EXPECT_THAT(second.events, IsEmpty());
}

TEST(Restart, DeletesWithTheUidThatWasSeen) {
  const Snapshot now = SnapshotOf(TFJob("j").Workers(1).RestartPolicy("ExitCode").Running())
                           .WithPod("j-worker-0", Failed(137));
  EXPECT_EQ(Reconcile(now).actions[0].uid, now.pods[0]->meta.uid);
}

TEST(Restart, TheReplacementIsMadeOnceTheOldPodIsGone) {
  const TFJob job = TFJob("j")
                        .Workers(1)
                        .RestartPolicy("ExitCode")
                        .Started()
                        .Condition("Restarting")
                        .With("/status/replicaStatuses/Worker", R"({"restartsByIndex":{"0":1}})");
  EXPECT_THAT(
      PodsCreated(Reconcile(SnapshotOf(job).WithPod("j-worker-0", Failed(137), Terminating()))),
      IsEmpty());
  EXPECT_THAT(PodsCreated(Reconcile(SnapshotOf(job))), ElementsAre("j-worker-0"));
}

TEST(Restart, KeepsTheService) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).RestartPolicy("OnFailure").Running())
                                  .WithPod("j-worker-0", Failed(1))
                                  .WithAllServices());
  EXPECT_THAT(testing::ServicesDeleted(plan), IsEmpty());
}

TEST(Restart, ShowsRestartingUntilTheReplacementRuns) {
  const TFJob job = TFJob("j")
                        .Workers(2)
                        .RestartPolicy("ExitCode")
                        .Started()
                        .Condition("Restarting")
                        .With("/status/replicaStatuses/Worker", R"({"restartsByIndex":{"1":1}})");
  EXPECT_EQ(ConditionsOf(Reconcile(SnapshotOf(job)
                                       .WithPod("j-worker-0", Running())
                                       .WithPod("j-worker-1", Pending(), Attempt(1)))
                             .status),
            "Created,Restarting");
  EXPECT_EQ(ConditionsOf(Reconcile(SnapshotOf(job)
                                       .WithPod("j-worker-0", Running())
                                       .WithPod("j-worker-1", Running(), Attempt(1)))
                             .status),
            "Created,Running");
}

TEST(Restart, OnlyTheFailedReplicaIsReplaced) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(3).RestartPolicy("ExitCode").Running())
                    .WithPod("j-ps-0", Running())
                    .WithPod("j-worker-0", Running())
                    .WithPod("j-worker-1", Failed(137))
                    .WithPod("j-worker-2", Running()));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-1"));
}

TEST(Restart, AFailureOfALaterAttemptCountsAnew) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j")
                     .Workers(1)
                     .RestartPolicy("ExitCode")
                     .Running()
                     .With("/status/replicaStatuses/Worker", R"({"restartsByIndex":{"0":1}})"))
          .WithPod("j-worker-0", Failed(137), Attempt(1)));
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).restarts_by_index.at(0), 2);
}

TEST(Restart, EachTypeFollowsItsOwnPolicy) {
  const TFJob job = TFJob("j").Ps(1).Workers(1).Running().With(
      "/spec/tfReplicaSpecs/PS/restartPolicy", "\"OnFailure\"");
  EXPECT_THAT(PodsDeleted(Reconcile(
                  SnapshotOf(job).WithPod("j-ps-0", Failed(1)).WithPod("j-worker-0", Running()))),
              ElementsAre("j-ps-0"));
  EXPECT_TRUE(
      Reconcile(SnapshotOf(job).WithPod("j-ps-0", Running()).WithPod("j-worker-0", Failed(1)))
          .status.IsTrue("Failed"));
}

// Eviction, drain, preemption or `kubectl delete pod`: training-operator failed the whole job.
class LostPod : public ::testing::TestWithParam<const char*> {};

TEST_P(LostPod, DoesNotFailAJobWhosePolicyAllowsARestart) {
  const TFJob job = TFJob("j").Workers(2).RestartPolicy(GetParam()).Running();
  const Plan plan = Reconcile(SnapshotOf(job)
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Running(), Terminating())
                                  .WithAllServices());
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running");
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).failed, 0);
}

TEST_P(LostPod, IsReplacedWhenItIsGone) {
  const TFJob job = TFJob("j").Workers(2).RestartPolicy(GetParam()).Running();
  const Plan plan = Reconcile(SnapshotOf(job).WithPod("j-worker-0", Running()).WithAllServices());
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-worker-1"));
}

TEST_P(LostPod, ThatFailsWhileItIsTerminatingIsReplacedWhateverItsExitCode) {
  const TFJob job = TFJob("j").Workers(2).RestartPolicy(GetParam()).Running();
  const Plan plan = Reconcile(SnapshotOf(job)
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Failed(1), Terminating())
                                  .WithAllServices());
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
  EXPECT_THAT(plan.actions, IsEmpty());  // it is going already
}

TEST_P(LostPod, OfADisruptionIsReplacedWithoutCountingAgainstTheLimits) {
  const Plan plan = Reconcile(
      SnapshotOf(
          TFJob("j").Workers(1).RestartPolicy(GetParam()).RunPolicy("backoffLimit", "0").Running())
          .WithPod("j-worker-0", Failed(143), TrueCondition("DisruptionTarget")));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-0"));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
  const auto& worker = plan.status.replica_statuses.at(api::ReplicaType::kWorker);
  EXPECT_THAT(worker.restarts_by_index, IsEmpty());
  EXPECT_EQ(worker.ignored_by_index.at(0), 1);
}

INSTANTIATE_TEST_SUITE_P(Policies, LostPod, ::testing::Values("Always", "OnFailure", "ExitCode"));

TEST(LostPodUnderNever, FailsTheJobWhileItRuns) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(2).Running())
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Running(), Terminating()));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).failed, 1);
}

TEST(LostPodUnderNever, IsHarmlessBeforeItRan) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(2).Running())
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Pending(), Terminating()));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
}

TEST(NodeLost, AStuckPodIsLeftAloneUnlessAsked) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).RestartPolicy("OnFailure").Running())
                                  .WithPod("j-worker-0", Running(), Terminating(30))
                                  .WithAllServices()
                                  .At(9999));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_FALSE(plan.requeue_at);
}

TEST(NodeLost, AStuckPodIsForcedOutAfterTheTimeout) {
  const TFJob job = TFJob("j")
                        .Workers(1)
                        .RestartPolicy("OnFailure")
                        .Running()
                        .With("/spec/failurePolicy/lostPodTimeoutSeconds", "60");
  SnapshotOf now =
      SnapshotOf(job).WithPod("j-worker-0", Running(), Terminating(30)).WithAllServices();
  const Plan early = Reconcile(now.At(89));
  EXPECT_THAT(early.actions, IsEmpty());
  EXPECT_EQ(early.requeue_at, After(90));
  const Plan due = Reconcile(now.At(90));
  ASSERT_THAT(PodsDeleted(due), ElementsAre("j-worker-0"));
  EXPECT_TRUE(due.actions[0].force);
}

TEST(RestartScopeJob, ReplacesAllReplicasTogether) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Ps(1)
                                             .Workers(2)
                                             .RestartPolicy("ExitCode")
                                             .Running()
                                             .With("/spec/restartScope", "\"Job\""))
                                  .WithPod("j-ps-0", Running())
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Failed(137)));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-ps-0", "j-worker-0", "j-worker-1"));
  EXPECT_EQ(plan.status.job_restarts, 1);
  EXPECT_EQ(plan.status.restarts, 1);
  EXPECT_EQ(plan.status_write, StatusWrite::kFirst);
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Restarting");
}

TEST(RestartScopeJob, CountsFailuresOfOneSetOnce) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(2)
                                             .RestartPolicy("ExitCode")
                                             .Running()
                                             .With("/spec/restartScope", "\"Job\""))
                                  .WithAllPods(Failed(137)));
  EXPECT_EQ(plan.status.job_restarts, 1);
}

TEST(RestartScopeJob, StartsNobodyBeforeTheWholeOldSetIsGone) {
  const TFJob job = TFJob("j")
                        .Workers(2)
                        .RestartPolicy("ExitCode")
                        .Started()
                        .With("/spec/restartScope", "\"Job\"")
                        .With("/status/jobRestarts", "1");
  EXPECT_THAT(
      Reconcile(SnapshotOf(job).WithPod("j-worker-0", Running(), Terminating()).WithAllServices())
          .actions,
      IsEmpty());
  EXPECT_THAT(PodsCreated(Reconcile(SnapshotOf(job).WithAllServices())),
              ElementsAre("j-worker-0", "j-worker-1"));
}

TEST(RestartScopeJob, ALostPodRestartsAllOnceAndTheirGoingIsNoNewOccasion) {
  const TFJob job = TFJob("j")
                        .Workers(2)
                        .RestartPolicy("OnFailure")
                        .Running()
                        .With("/spec/restartScope", "\"Job\"");
  const Snapshot before = SnapshotOf(job)
                              .WithPod("j-worker-0", Running())
                              .WithPod("j-worker-1", Running(), Terminating())
                              .WithAllServices();
  const Plan plan = Reconcile(before);
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-0"));
  EXPECT_EQ(plan.status.job_restarts, 1);
  Snapshot after = Apply(plan, before);
  after.pods = {testing::MakePod("j", "j-worker-0", {Running(), Terminating()}), before.pods[1]};
  EXPECT_EQ(Reconcile(after).status.job_restarts, 1);
}

TEST(RestartScopeJob, RunsFinishedReplicasAgainToo) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(3)
                                             .RestartPolicy("ExitCode")
                                             .SuccessPolicy("AllWorkers")
                                             .Running()
                                             .With("/spec/restartScope", "\"Job\""))
                                  .WithPod("j-worker-0", Succeeded())
                                  .WithPod("j-worker-1", Failed(137))
                                  .WithPod("j-worker-2", Running()));
  EXPECT_EQ(PodsDeleted(plan).size(), 3u);
  EXPECT_THAT(plan.status.replica_statuses.at(api::ReplicaType::kWorker).succeeded_indexes,
              IsEmpty());
}

TEST(RestartScopeJob, DoesNotOverruleNever) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(2).Running().With("/spec/restartScope", "\"Job\""))
                    .WithPod("j-worker-0", Running())
                    .WithPod("j-worker-1", Failed(1)));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

}  // namespace
}  // namespace tensorfleet::plan
