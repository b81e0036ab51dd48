// When a job has succeeded and when it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using testing::After;
using testing::Apply;
using testing::ConditionsOf;
using ::testing::ElementsAre;
using testing::EventReasons;
using testing::Failed;
using ::testing::IsEmpty;
using testing::NoExitCode;
using testing::Pending;
using testing::Running;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::Terminating;
using testing::TFJob;

struct Row {
  const char* name;
  Snapshot now;
  const char* conditions;  // after the pass
};

Row R(const char* name, const SnapshotOf& now, const char* conditions) {
  return {name, now.Build(), conditions};
}

class Outcome : public ::testing::TestWithParam<Row> {};

TEST_P(Outcome, IsShownInTheConditions) {
  const Plan plan = Reconcile(GetParam().now);
  EXPECT_EQ(ConditionsOf(plan.status), GetParam().conditions);
}

INSTANTIATE_TEST_SUITE_P(
    WithAChief, Outcome,
    ::testing::Values(
        R("RunsWhenTheChiefIsActive",
          SnapshotOf(TFJob("j").Chief().Workers(1).Started()).WithPod("j-chief-0", Running()),
          "Created,Running"),
        R("DoesNotRunByItsWorkersAlone",
          SnapshotOf(TFJob("j").Chief().Workers(1).Started()).WithPod("j-worker-0", Running()),
          "Created"),
        R("DoesNotRunWhileTheChiefIsPending",
          SnapshotOf(TFJob("j").Chief().Workers(1).Started()).WithAllPods(Pending()), "Created"),
        R("SucceedsWithTheChief",
          SnapshotOf(TFJob("j").Chief().Workers(1).Running())
              .WithPod("j-chief-0", Succeeded())
              .WithPod("j-worker-0", Running()),
          "Created,Running(False),Succeeded"),
        R("SucceedsWithTheMaster",
          SnapshotOf(TFJob("j").Master().Workers(1).Running())
              .WithPod("j-master-0", Succeeded())
              .WithPod("j-worker-0", Running()),
          "Created,Running(False),Succeeded"),
        R("DoesNotSucceedWithItsWorkers",
          SnapshotOf(TFJob("j").Chief().Workers(1).Running())
              .WithPod("j-chief-0", Running())
              .WithPod("j-worker-0", Succeeded()),
          "Created,Running"),
        R("DoesNotAskTheSuccessPolicy",
          SnapshotOf(TFJob("j").Chief().Workers(1).SuccessPolicy("AllWorkers").Running())
              .WithPod("j-chief-0", Succeeded())
              .WithPod("j-worker-0", Running()),
          "Created,Running(False),Succeeded"),
        R("SucceedsOnlyThoughAnotherReplicaFailedInTheSamePass",
          SnapshotOf(TFJob("j").Chief().Workers(1).Running())
              .WithPod("j-chief-0", Succeeded())
              .WithPod("j-worker-0", Failed(1)),
          "Created,Running(False),Succeeded"),
        R("FailsWithAWorkerThoughTheChiefIsHealthy",
          SnapshotOf(TFJob("j").Chief().Workers(1).Running())
              .WithPod("j-chief-0", Running())
              .WithPod("j-worker-0", Failed(1)),
          "Created,Running(False),Failed"),
        R("FailsWithAParameterServer",
          SnapshotOf(TFJob("j").Chief().Ps(1).Running())
              .WithPod("j-chief-0", Running())
              .WithPod("j-ps-0", Failed(1)),
          "Created,Running(False),Failed"),
        R("FailsWithAnEvaluator",
          SnapshotOf(TFJob("j").Chief().Evaluator().Running())
              .WithPod("j-chief-0", Running())
              .WithPod("j-evaluator-0", Failed(1)),
          "Created,Running(False),Failed"),
        R("AChiefOfZeroReplicasDecidesNothing",
          SnapshotOf(TFJob("j").Chief(0).Workers(1).Started()).WithPod("j-worker-0", Running()),
          "Created,Running")),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    WithoutAChief, Outcome,
    ::testing::Values(
        R("RunsWhenAnyWorkerIsActive",
          SnapshotOf(TFJob("j").Workers(2).Started()).WithPod("j-worker-1", Running()),
          "Created,Running"),
        R("SucceedsWithWorkerZero",
          SnapshotOf(TFJob("j").Workers(2).Running())
              .WithPod("j-worker-0", Succeeded())
              .WithPod("j-worker-1", Running()),
          "Created,Running(False),Succeeded"),
        R("DoesNotSucceedWithWorkerOne",
          SnapshotOf(TFJob("j").Workers(2).Running())
              .WithPod("j-worker-0", Running())
              .WithPod("j-worker-1", Succeeded()),
          "Created,Running"),
        R("WorkerZeroMustShowExitCodeZero",
          SnapshotOf(TFJob("j").Workers(2).Running())
              .WithPod("j-worker-0", Succeeded(), NoExitCode())
              .WithPod("j-worker-1", Running()),
          "Created,Running"),
        R("SucceedsWithAllWorkersWhateverTheirExitCodes",
          SnapshotOf(TFJob("j").Workers(2).Running()).WithAllPods(Succeeded(), NoExitCode()),
          "Created,Running(False),Succeeded"),
        R("AllWorkersWaitsForTheLast",
          SnapshotOf(TFJob("j").Workers(2).SuccessPolicy("AllWorkers").Running())
              .WithPod("j-worker-0", Succeeded())
              .WithPod("j-worker-1", Running()),
          "Created,Running"),
        R("AllWorkersSucceedsWithTheLast",
          SnapshotOf(TFJob("j").Workers(2).SuccessPolicy("AllWorkers").Running())
              .WithAllPods(Succeeded()),
          "Created,Running(False),Succeeded"),
        R("AFastJobIsNeverSeenRunning",
          SnapshotOf(TFJob("j").Workers(1).Started()).WithAllPods(Succeeded()),
          "Created,Succeeded"),
        R("WorkerZeroSucceedsThoughWorkerOneFailedInTheSamePass",
          SnapshotOf(TFJob("j").Workers(2).Running())
              .WithPod("j-worker-0", Succeeded())
              .WithPod("j-worker-1", Failed(1)),
          "Created,Running(False),Succeeded"),
        R("AWorkerThatSucceededAndIsGoneStillCounts",
          SnapshotOf(TFJob("j")
                         .Workers(2)
                         .SuccessPolicy("AllWorkers")
                         .Running()
                         .With("/status/replicaStatuses/Worker", R"({"succeededIndexes":"0"})"))
              .WithPod("j-worker-1", Succeeded()),
          "Created,Running(False),Succeeded"),
        R("OnlyParameterServersNeverRun",
          SnapshotOf(TFJob("j").Ps(2).Started()).WithAllPods(Running()), "Created"),
        R("OnlyEvaluatorsNeverSucceed",
          SnapshotOf(TFJob("j").Evaluator().Started()).WithAllPods(Succeeded()), "Created"),
        R("NoWorkersAtAllIsNoSuccess", SnapshotOf(TFJob("j").Workers(0).Started()), "Created"),
        R("ParameterServersMayFinishWithoutConsequence",
          SnapshotOf(TFJob("j").Ps(1).Workers(1).Running())
              .WithPod("j-ps-0", Succeeded())
              .WithPod("j-worker-0", Running()),
          "Created,Running")),
    [](const auto& info) { return info.param.name; });

TEST(Success, TellsOfItAndStampsTheEnd) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).Running()).WithAllPods(Succeeded()).At(42));
  EXPECT_EQ(plan.stopped_by, "judge-success");
  EXPECT_EQ(plan.status.completion_time, After(42));
  EXPECT_EQ(plan.status.conditions.back().message, "TFJob ns/j successfully completed.");
  EXPECT_THAT(EventReasons(plan), ElementsAre("ExitedWithCode", "TFJobSucceeded"));
  EXPECT_EQ(plan.events[0].message, "Pod: ns.j-worker-0 exited with code 0");
  EXPECT_EQ(plan.counters.succeeded, 1);
  EXPECT_EQ(plan.status_write, StatusWrite::kNow);
}

TEST(Success, CountsWhatIsStillActiveAsSucceeded) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(2).Workers(1).Running())
                                  .WithPod("j-ps-0", Running())
                                  .WithPod("j-ps-1", Running())
                                  .WithPod("j-worker-0", Succeeded()));
  const api::ReplicaStatus& ps = plan.status.replica_statuses.at(api::ReplicaType::kPs);
  EXPECT_EQ(ps.active, 0);
  EXPECT_EQ(ps.succeeded, 2);
}

TEST(Success, CreatesNothingInTheSamePass) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(2).Running()).WithPod("j-worker-0", Succeeded()));
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST(Success, WinsOverADeadlineThatPassedUnseen) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).RunPolicy("activeDeadlineSeconds", "10").Running())
                    .WithAllPods(Succeeded())
                    .At(100));
  EXPECT_TRUE(plan.status.IsTrue("Succeeded"));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
}

TEST(Running, HasTheContractsReasonAndText) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(1).Started()).WithAllPods(Running()).WithAllServices());
  EXPECT_EQ(plan.status.conditions[1].reason, "TFJobRunning");
  EXPECT_EQ(plan.status.conditions[1].message, "TFJob ns/j is running.");
  EXPECT_THAT(plan.events, IsEmpty());
}

// A finished worker is never run again: training-operator started it anew when its pod was
// collected.
TEST(FinishedWorker, IsNotRunAgainWhenItsPodIsGone) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(2)
                                             .SuccessPolicy("AllWorkers")
                                             .Running()
                                             .With("/status/replicaStatuses/Worker",
                                                   R"({"succeeded":1,"succeededIndexes":"1"})"))
                                  .WithPod("j-worker-0", Running())
                                  .WithService("j-worker-0"));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).succeeded, 1);
}

TEST(FinishedWorker, IsRememberedFromTheFirstLook) {
  const Snapshot before = SnapshotOf(TFJob("j").Workers(2).SuccessPolicy("AllWorkers").Running())
                              .WithPod("j-worker-0", Running())
                              .WithPod("j-worker-1", Succeeded())
                              .WithAllServices();
  const Plan plan = Reconcile(before);
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).succeeded_indexes,
            std::set<int32_t>{1});
  Snapshot after = Apply(plan, before);
  after.pods.pop_back();  // a node was drained and its finished pods collected
  EXPECT_THAT(Reconcile(after).actions, IsEmpty());
}

TEST(FinishedWorker, TellsItsExitCodeOnce) {
  const Snapshot before = SnapshotOf(TFJob("j").Workers(2).Running())
                              .WithPod("j-worker-0", Running())
                              .WithPod("j-worker-1", Succeeded())
                              .WithAllServices();
  const Plan plan = Reconcile(before);
  EXPECT_THAT(EventReasons(plan), ElementsAre("ExitedWithCode"));
  EXPECT_THAT(Reconcile(Apply(plan, before)).events, IsEmpty());
}

TEST(FinishedWorker, ASucceededPodThatIsTerminatingCounts) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(2).Running())
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Succeeded(), Terminating()));
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).succeeded, 1);
}

}  // namespace
}  // namespace tensorfleet::plan
