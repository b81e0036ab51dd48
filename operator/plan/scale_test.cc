// Changing replicas of a live job, names that are taken, start order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using testing::After;
using testing::Apply;
using testing::BodyOf;
using testing::ConditionsOf;
using ::testing::ElementsAre;
using testing::EventReasons;
using ::testing::IsEmpty;
using testing::Names;
using testing::Orphaned;
using testing::OwnedBy;
using testing::Pending;
using testing::PodsCreated;
using testing::PodsDeleted;
using testing::Running;
using testing::RunningNotReady;
using testing::ServicesCreated;
using testing::ServicesDeleted;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::Terminating;
using testing::TFJob;

// training-operator created and deleted a pod for ever.
TEST(ReplicasZero, IsSteady) {
  const Snapshot before = SnapshotOf(TFJob("j").Workers(0));
  const Plan plan = Reconcile(before);
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(ConditionsOf(plan.status), "Created");
  const Plan second = Reconcile(Apply(plan, before));
  EXPECT_THAT(second.actions, IsEmpty());
  EXPECT_EQ(second.status_write, StatusWrite::kNone);
}

TEST(ReplicasZero, OfOneTypeLeavesTheOthersAsTheyAre) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(0).Workers(1)));
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-worker-0"));
}

TEST(ScaleOut, CreatesTheNewReplicasWithTheNewCluster) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(3).Running())
                                  .WithPod("j-worker-0", Running())
                                  .WithService("j-worker-0"));
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-worker-1", "j-worker-2"));
  EXPECT_THAT(ServicesCreated(plan), ElementsAre("j-worker-1", "j-worker-2"));
  EXPECT_THAT(BodyOf(plan, ActionKind::kCreatePod, "j-worker-2").dump(),
              ::testing::HasSubstr("j-worker-1.ns.svc:2222"));
}

TEST(ScaleIn, DeletesTheReplicasBeyondTheNumberWithTheirServices) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(1).Running())
                                  .WithAllPods(Running())
                                  .WithAllServices()
                                  .WithPod("j-worker-1", Running())
                                  .WithService("j-worker-1")
                                  .WithPod("j-worker-2", Pending())
                                  .WithService("j-worker-2"));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-1", "j-worker-2"));
  EXPECT_THAT(ServicesDeleted(plan), ElementsAre("j-worker-1", "j-worker-2"));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running");
}

// training-operator filled the gap up to the stale pod, and emptied it again.
TEST(ScaleIn, MakesNothingBelowAPodThatIsOneTooMany) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Running())
                                  .WithAllPods(Running())
                                  .WithAllServices()
                                  .WithPod("j-worker-7", Running()));
  EXPECT_THAT(PodsCreated(plan), IsEmpty());
  EXPECT_THAT(ServicesCreated(plan), IsEmpty());
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-7"));
}

TEST(Template, ThatChangesAppliesToPodsMadeFromThenOn) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j")
                               .Workers(2)
                               .RestartPolicy("OnFailure")
                               .Running()
                               .With("/spec/tfReplicaSpecs/Worker/template/spec/containers/0/image",
                                     "\"new:2\""))
                    .WithPod("j-worker-0", Running())
                    .WithAllServices());
  EXPECT_THAT(PodsDeleted(plan), IsEmpty());
  ASSERT_THAT(PodsCreated(plan), ElementsAre("j-worker-1"));
  EXPECT_EQ(BodyOf(plan, ActionKind::kCreatePod, "j-worker-1")["spec"]["containers"][0]["image"],
            "new:2");
}

// training-operator counted the pods that it deleted itself as failed, and failed the job.
TEST(ScaleIn, DoesNotFailTheJob) {
  const TFJob job = TFJob("j").Workers(1).Running();
  const Plan plan = Reconcile(SnapshotOf(job).WithAllPods(Running()).WithAllServices().WithPod(
      "j-worker-1", Running(), Terminating()));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running");
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).failed, 0);
}

TEST(ScaleIn, AndOutAgainBeforeThePodIsGoneDoesNotFailTheJob) {
  Snapshot before = SnapshotOf(TFJob("j").Workers(1).Running())
                        .WithAllPods(Running())
                        .WithAllServices()
                        .WithPod("j-worker-1", Running());
  const Plan in = Reconcile(before);
  Snapshot after = SnapshotOf(TFJob("j").Workers(2).Status(in.status))
                       .WithPod("j-worker-0", Running())
                       .WithPod("j-worker-1", Running(), Terminating())
                       .WithAllServices();
  const Plan out = Reconcile(after);
  EXPECT_FALSE(out.status.IsTrue("Failed"));
  EXPECT_THAT(out.actions, IsEmpty());
  after.pods.pop_back();
  EXPECT_THAT(PodsCreated(Reconcile(after)), ElementsAre("j-worker-1"));
}

TEST(ScaleIn, ToZeroIsSteady) {
  const Snapshot before = SnapshotOf(TFJob("j").Workers(0).Running())
                              .WithPod("j-worker-0", Running())
                              .WithService("j-worker-0");
  const Plan plan = Reconcile(before);
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-0"));
  const Plan second = Reconcile(Apply(plan, before));
  EXPECT_THAT(second.actions, IsEmpty());
}

TEST(ScaleIn, OfATypeThatWasTakenOutOfTheSpecReleasesItsPods) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Running())
                                  .WithAllPods(Running())
                                  .WithPod("j-evaluator-0", Running())
                                  .WithService("j-evaluator-0"));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-evaluator-0"));
  EXPECT_THAT(ServicesDeleted(plan), ElementsAre("j-evaluator-0"));
}

TEST(ScaleIn, ToTheNumberThatHasSucceededEndsTheJob) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).SuccessPolicy("AllWorkers").Running())
                    .WithPod("j-worker-0", Succeeded())
                    .WithPod("j-worker-1", Running()));
  EXPECT_TRUE(plan.status.IsTrue("Succeeded"));
}

TEST(TakenName, OfAPodOfAnotherOwnerIsToldAndTriedAgain) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(2).Started())
                                  .WithPod("j-worker-0", Running(), OwnedBy("other"))
                                  .WithAllServices());
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-worker-1"));
  EXPECT_THAT(PodsDeleted(plan), IsEmpty());
  EXPECT_THAT(EventReasons(plan), ElementsAre("NameTaken"));
  EXPECT_EQ(plan.events[0].message, "pod j-worker-0 exists and belongs to another owner");
  EXPECT_EQ(plan.requeue_at, After(10));
}

// A job made anew under the same name while the pods of the old one terminate.
TEST(TakenName, OfAPodThatIsGoingIsWaitedForInSilence) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Started())
                                  .WithPod("j-worker-0", Running(), OwnedBy("old"), Terminating())
                                  .WithAllServices());
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(plan.events, IsEmpty());
  EXPECT_FALSE(plan.status.IsTrue("Running"));
}

// As after `kubectl delete tfjob --cascade=orphan` and a new `apply`: training goes on.
TEST(OwnerlessPod, IsAdoptedAndGoesOn) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Started())
                                  .WithPod("j-worker-0", Running(), Orphaned())
                                  .WithAllServices());
  ASSERT_THAT(Names(plan, ActionKind::kAdoptPod), ElementsAre("j-worker-0"));
  const nlohmann::json patch = nlohmann::json::parse(plan.actions[0].body);
  EXPECT_EQ(patch["metadata"]["ownerReferences"][0]["uid"], "job-uid");
  EXPECT_EQ(patch["metadata"]["resourceVersion"], "1");
  EXPECT_TRUE(plan.status.IsTrue("Running"));
}

TEST(OwnerlessPod, ThatIsGoingIsWaitedFor) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Started())
                                  .WithPod("j-worker-0", Running(), Orphaned(), Terminating())
                                  .WithAllServices());
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST(TakenName, OfAServiceOfAnotherOwnerIsLeftAlone) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Started())
                                  .WithAllPods(Pending())
                                  .WithService("j-worker-0", OwnedBy("other")));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(EventReasons(plan), ElementsAre("NameTaken"));
}

TEST(OwnerlessService, IsAdopted) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Started())
                                  .WithAllPods(Pending())
                                  .WithService("j-worker-0", Orphaned()));
  ASSERT_THAT(Names(plan, ActionKind::kAdoptService), ElementsAre("j-worker-0"));
  const nlohmann::json patch = nlohmann::json::parse(plan.actions[0].body);
  EXPECT_EQ(patch["metadata"]["ownerReferences"][0]["uid"], "job-uid");
  EXPECT_EQ(patch["metadata"]["resourceVersion"], "1");
}

// Moving over from training-operator: its pods carry no mark of ours.
TEST(Adoption, OfPodsOfTrainingOperatorNeedsNothing) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Ps(1).Workers(2).Running()).WithAllPods(Running()).WithAllServices());
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.counters.created, 0);
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running");
}

TEST(TwoPodsInASlot, AreNeitherDeletedNorJoinedByAThird) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Started())
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-0", Pending())
                                  .WithAllServices());
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST(MissingPod, OfALiveJobIsMadeAnew) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(2).Running())
                                  .WithPod("j-worker-1", Running())
                                  .WithAllServices());
  EXPECT_THAT(plan.actions.size(), 1u);
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-worker-0"));
}

TEST(MissingService, OfALiveJobIsMadeAnew) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(2).Running()).WithAllPods(Running()).WithService("j-worker-1"));
  EXPECT_THAT(ServicesCreated(plan), ElementsAre("j-worker-0"));
}

TFJob PsFirst() {
  return TFJob("j").Chief().Ps(2).Workers(1).Started().With("/spec/startOrder", "\"PSFirst\"");
}

TEST(StartOrder, PsFirstStartsOnlyParameterServers) {
  const Plan plan = Reconcile(SnapshotOf(PsFirst()));
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-ps-0", "j-ps-1"));
  EXPECT_EQ(ServicesCreated(plan).size(), 4u);
}

TEST(StartOrder, PsFirstWaitsUntilAllAreReady) {
  const Plan plan = Reconcile(SnapshotOf(PsFirst())
                                  .WithPod("j-ps-0", Running())
                                  .WithPod("j-ps-1", RunningNotReady())
                                  .WithAllServices());
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST(StartOrder, PsFirstThenStartsTheRest) {
  const Plan plan = Reconcile(SnapshotOf(PsFirst())
                                  .WithPod("j-ps-0", Running())
                                  .WithPod("j-ps-1", Running())
                                  .WithAllServices());
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-chief-0", "j-worker-0"));
}

TEST(StartOrder, PsFirstWithoutParameterServersWaitsForNobody) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).With("/spec/startOrder", "\"PSFirst\"")));
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-worker-0"));
}

// TF_CONFIG grows with the job, so the bodies together grow with its square.
TEST(HugeJob, IsCreatedAPortionAtATime) {
  Snapshot now = SnapshotOf(TFJob("j").Workers(2000));
  const Plan plan = Reconcile(now);
  EXPECT_LT(PodsCreated(plan).size(), 2000u);
  EXPECT_GT(PodsCreated(plan).size(), 100u);
  EXPECT_EQ(plan.requeue_at, now.now);
  EXPECT_EQ(PodsCreated(Reconcile(Apply(plan, now))).front(),
            "j-worker-" + std::to_string(PodsCreated(plan).size()));
}

}  // namespace
}  // namespace tensorfleet::plan
