// replicaCompletion: Container. A service mesh's proxy keeps pods Running for ever; what counts is
// the container that trains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using testing::Apply;
using testing::ConditionsOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::OnlySidecarsRun;
using testing::PodsDeleted;
using testing::Running;
using testing::SnapshotOf;
using testing::Terminating;
using testing::TFJob;

TFJob Job(const char* policy = "Never") {
  return TFJob("j").Workers(2).RestartPolicy(policy).Running().With("/spec/replicaCompletion",
                                                                    "\"Container\"");
}

SnapshotOf Ends(const TFJob& job, int worker_0_exit) {
  return SnapshotOf(job)
      .WithPod("j-worker-0", OnlySidecarsRun(worker_0_exit))
      .WithPod("j-worker-1", Running())
      .WithAllServices();
}

TEST(Sidecars, DoNotKeepAFinishedJobRunning) {
  EXPECT_EQ(ConditionsOf(Reconcile(Ends(Job(), 0)).status), "Created,Running(False),Succeeded");
}

TEST(Sidecars, AreWaitedForUnlessAskedNotTo) {
  const Plan plan = Reconcile(Ends(Job().With("/spec/replicaCompletion", "\"Pod\""), 0));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running");
}

TEST(Sidecars, DoNotHideAFailure) {
  EXPECT_EQ(ConditionsOf(Reconcile(Ends(Job(), 1)).status), "Created,Running(False),Failed");
}

TEST(Sidecars, DoNotHideARetryableExitCode) {
  const Plan plan = Reconcile(Ends(Job("ExitCode"), 137));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-0"));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Restarting");
}

TEST(Sidecars, LeaveRestartsInPlaceToTheKubelet) {
  for (const char* policy : {"OnFailure", "Always"}) {
    const Plan plan = Reconcile(Ends(Job(policy), 1));
    EXPECT_EQ(ConditionsOf(plan.status), "Created,Running") << policy;
    EXPECT_THAT(plan.actions, IsEmpty()) << policy;
  }
  EXPECT_EQ(ConditionsOf(Reconcile(Ends(Job("Always"), 0)).status), "Created,Running");
}

TEST(Sidecars, GoAtTheJobsEnd) {
  const Snapshot before = Ends(Job(), 0);
  EXPECT_THAT(PodsDeleted(Reconcile(Apply(Reconcile(before), before))), ElementsAre("j-worker-0"));
}

TEST(Sidecars, StayWhereCleanPodPolicyNoneIsWrittenDown) {
  const Snapshot before = Ends(Job().RunPolicy("cleanPodPolicy", "\"None\""), 0);
  EXPECT_THAT(Reconcile(Apply(Reconcile(before), before)).actions, IsEmpty());
}

TEST(Sidecars, OfAFinishedReplicaMayBeDeletedByHand) {
  const Plan plan = Reconcile(
      SnapshotOf(Job()
                     .SuccessPolicy("AllWorkers")
                     .With("/status/replicaStatuses/Worker", R"({"succeededIndexes":"1"})"))
          .WithPod("j-worker-0", Running())
          .WithPod("j-worker-1", OnlySidecarsRun(0), Terminating())
          .WithAllServices());
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).succeeded, 1);
}

TEST(Sidecars, APodThatWasToldToEndHasNotFinished) {
  const Plan plan = Reconcile(SnapshotOf(Job("ExitCode"))
                                  .WithPod("j-worker-0", OnlySidecarsRun(0), Terminating())
                                  .WithPod("j-worker-1", Running())
                                  .WithAllServices());
  EXPECT_FALSE(plan.status.IsTrue("Succeeded"));
}

}  // namespace
}  // namespace tensorfleet::plan
