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
using ::testing::IsEmpty;
using testing::Names;
using testing::PodsCreated;
using testing::PodsDeleted;
using testing::Running;
using testing::ServicesDeleted;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::Terminating;
using testing::TFJob;
using ::testing::UnorderedElementsAre;

TEST(Suspend, AJobCreatedSuspendedGetsNoObjectsAndNoStartTime) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(2).Suspended()));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Suspended");
  EXPECT_FALSE(plan.status.start_time);
  EXPECT_EQ(plan.stopped_by, "suspend");
}

TEST(Suspend, TakesAllPodsAndServicesOfARunningJob) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(1).Suspended().Running().With(
                               "/status/replicaStatuses/Worker", R"({"active":1,"succeeded":2})"))
                    .WithPod("j-ps-0", Running())
                    .WithPod("j-worker-0", Succeeded())
                    .WithAllServices());
  EXPECT_THAT(PodsDeleted(plan), UnorderedElementsAre("j-ps-0", "j-worker-0"));
  EXPECT_THAT(ServicesDeleted(plan), UnorderedElementsAre("j-ps-0", "j-worker-0"));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running(False),Suspended");
  EXPECT_EQ(plan.status.conditions[1].reason, "TFJobSuspended");
  EXPECT_EQ(plan.status.conditions[1].message, "TFJob j is suspended.");
  EXPECT_EQ(plan.status.conditions[2].message, "TFJob j is suspended.");
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).active, 0);
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).succeeded, 2);
  EXPECT_EQ(plan.status.start_time, After(0));
}

TEST(Suspend, WhateverTheCleanPodPolicySays) {
  const Plan plan = Reconcile(
      SnapshotOf(
          TFJob("j").Workers(1).Suspended().RunPolicy("cleanPodPolicy", "\"None\"").Running())
          .WithAllPods(Running()));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-0"));
}

TEST(Suspend, IsToldOfOnce) {
  const Snapshot before =
      SnapshotOf(TFJob("j").Workers(1).Suspended().Running()).WithAllPods(Running());
  const Plan plan = Reconcile(before);
  EXPECT_THAT(EventReasons(plan), ElementsAre("TFJobSuspended"));
  EXPECT_THAT(Reconcile(Apply(plan, before)).events, IsEmpty());
}

TEST(Suspend, DropsRestarting) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).Suspended().Started().Condition("Restarting")));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Suspended");
}

TEST(Suspend, StopsTheDeadlinesClock) {
  const Plan plan = Reconcile(
      SnapshotOf(
          TFJob("j").Workers(1).Suspended().RunPolicy("activeDeadlineSeconds", "10").Running())
          .At(99));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
  EXPECT_FALSE(plan.requeue_at);
}

TEST(Resume, StartsFromScratchWithANewClock) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(2)
                                             .Suspended(false)
                                             .Started()
                                             .FalseCondition("Running", "TFJobSuspended")
                                             .Condition("Suspended", 10))
                                  .At(50));
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-worker-0", "j-worker-1"));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running(False),Suspended(False)");
  EXPECT_EQ(plan.status.conditions.back().reason, "TFJobResumed");
  EXPECT_EQ(plan.status.conditions.back().message, "TFJob j is resumed.");
  EXPECT_EQ(plan.status.start_time, After(50));
  EXPECT_THAT(EventReasons(plan), ElementsAre("TFJobResumed"));
}

TEST(Resume, RunsWhatHadSucceededAgain) {
  const Plan plan = Reconcile(SnapshotOf(
      TFJob("j")
          .Workers(2)
          .Started()
          .Condition("Suspended")
          .With("/status/replicaStatuses/Worker", R"({"succeeded":1,"succeededIndexes":"1"})")));
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-worker-0", "j-worker-1"));
}

TEST(Resume, ShowsRunningAgainAtTheEnd) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(1)
                                             .Started()
                                             .FalseCondition("Running", "TFJobSuspended")
                                             .FalseCondition("Suspended", "TFJobResumed"))
                                  .WithAllPods(Running()));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Suspended(False),Running");
}

TEST(Resume, WaitsForPodsThatAreStillGoing) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(1).RestartPolicy("OnFailure").Started().Condition("Suspended"))
          .WithPod("j-worker-0", Running(), Terminating()));
  EXPECT_THAT(PodsCreated(plan), IsEmpty());
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Suspended(False)");
}

TEST(Resume, FirstFinishesAnInterruptedSuspension) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Started().Condition("Suspended"))
                                  .WithPod("j-worker-0", Succeeded()));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-0"));
  EXPECT_TRUE(plan.status.IsTrue("Suspended"));
}

TEST(Resume, OfAJobThatFailedValidationMeanwhileFailsIt) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(-1).Condition("Created").Condition("Suspended")));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

}  // namespace
}  // namespace tensorfleet::plan
