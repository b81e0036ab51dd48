// Jobs that are over: cleanPodPolicy, services, time to live.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using testing::After;
using testing::Apply;
using ::testing::ElementsAre;
using testing::Failed;
using ::testing::IsEmpty;
using testing::Names;
using testing::OwnedBy;
using testing::Pending;
using testing::PodsDeleted;
using testing::Running;
using testing::ServicesDeleted;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::Terminating;
using testing::TFJob;
using ::testing::UnorderedElementsAre;

// One pod of each kind of end, each with its service.
SnapshotOf Ended(const TFJob& job) {
  SnapshotOf now(job);
  now.WithPod("j-chief-0", Succeeded())
      .WithPod("j-ps-0", Running())
      .WithPod("j-worker-0", Succeeded())
      .WithPod("j-worker-1", Failed(1))
      .WithPod("j-worker-2", Running())
      .WithPod("j-worker-3", Pending())
      .WithAllServices();
  return now;
}

TFJob EndedJob() { return TFJob("j").Chief().Ps(1).Workers(4).Succeeded(); }

TEST(CleanPodPolicyNone, KeepsEverything) {
  const Plan plan = Reconcile(Ended(EndedJob().RunPolicy("cleanPodPolicy", "\"None\"")));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.stopped_by, "settle-finished");
}

TEST(CleanPodPolicyRunning, DeletesWhatHasNotEndedWithItsServices) {
  const Plan plan = Reconcile(Ended(EndedJob().RunPolicy("cleanPodPolicy", "\"Running\"")));
  EXPECT_THAT(PodsDeleted(plan), UnorderedElementsAre("j-ps-0", "j-worker-2", "j-worker-3"));
  EXPECT_THAT(ServicesDeleted(plan), UnorderedElementsAre("j-ps-0", "j-worker-2", "j-worker-3"));
}

TEST(CleanPodPolicyAll, DeletesEverything) {
  const Plan plan = Reconcile(Ended(EndedJob().RunPolicy("cleanPodPolicy", "\"All\"")));
  EXPECT_EQ(PodsDeleted(plan).size(), 6u);
  EXPECT_EQ(ServicesDeleted(plan).size(), 6u);
}

// With training-operator parameter servers ran on for ever.
TEST(CleanPodPolicyUnset, ReleasesParameterServersAndKeepsTheRest) {
  const Plan plan = Reconcile(Ended(EndedJob()));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-ps-0"));
  EXPECT_THAT(ServicesDeleted(plan), ElementsAre("j-ps-0"));
}

TEST(CleanPodPolicyUnset, ReleasesParameterServersOfAFailedJobToo) {
  const Plan plan = Reconcile(Ended(TFJob("j").Chief().Ps(1).Workers(4).Failed()));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-ps-0"));
}

class StoppedByALimit : public ::testing::TestWithParam<const char*> {};

TEST_P(StoppedByALimit, StopsWhatRunsAndKeepsTheLogsOfWhatHasEnded) {
  const Plan plan = Reconcile(Ended(TFJob("j").Chief().Ps(1).Workers(4).Failed(0, GetParam())));
  EXPECT_THAT(PodsDeleted(plan), UnorderedElementsAre("j-ps-0", "j-worker-2", "j-worker-3"));
}

// training-operator deleted all pods, and with them the logs.
TEST_P(StoppedByALimit, RespectsCleanPodPolicyNone) {
  const Plan plan = Reconcile(Ended(TFJob("j")
                                        .Chief()
                                        .Ps(1)
                                        .Workers(4)
                                        .RunPolicy("cleanPodPolicy", "\"None\"")
                                        .Failed(0, GetParam())));
  EXPECT_THAT(plan.actions, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Limits, StoppedByALimit,
    ::testing::Values("Job j has failed because it was active longer than specified deadline",
                      "Job j has failed because it has reached the specified backoff limit"));

class MayCycle : public ::testing::TestWithParam<const char*> {};

TEST_P(MayCycle, AFailedPodThatTheKubeletMayRestartIsReleasedUnderRunning) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(2)
                                             .RestartPolicy(GetParam())
                                             .RunPolicy("cleanPodPolicy", "\"Running\"")
                                             .Succeeded())
                                  .WithPod("j-worker-0", Succeeded())
                                  .WithPod("j-worker-1", Failed(1)));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-1"));
}

INSTANTIATE_TEST_SUITE_P(Policies, MayCycle, ::testing::Values("OnFailure", "Always"));

TEST(CleanPodPolicyPerType, OverridesTheJobs) {
  const Plan plan =
      Reconcile(Ended(EndedJob()
                          .RunPolicy("cleanPodPolicy", "\"None\"")
                          .With("/spec/tfReplicaSpecs/PS/cleanPodPolicy", "\"All\"")
                          .With("/spec/tfReplicaSpecs/Worker/cleanPodPolicy", "\"Running\"")));
  EXPECT_THAT(PodsDeleted(plan), UnorderedElementsAre("j-ps-0", "j-worker-2", "j-worker-3"));
}

TEST(CleanUp, DoesNotDeleteTwice) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).RunPolicy("cleanPodPolicy", "\"All\"").Succeeded())
                    .WithPod("j-worker-0", Succeeded(), Terminating()));
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST(CleanUp, FinishesWhatAnInterruptedOneLeft) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(2).RunPolicy("cleanPodPolicy", "\"All\"").Succeeded())
                    .WithService("j-worker-0"));
  EXPECT_THAT(ServicesDeleted(plan), ElementsAre("j-worker-0"));
}

TEST(CleanUp, LeavesWhatBelongsToAnotherAlone) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(2).RunPolicy("cleanPodPolicy", "\"All\"").Succeeded())
                    .WithPod("j-worker-0", Running(), OwnedBy("other"))
                    .WithService("j-worker-0", OwnedBy("other")));
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST(Finished, StartsNothing) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(3).Succeeded()));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.status_write, StatusWrite::kNone);
}

// A queue that preempts a job in the moment of its end suspends it, and never resumes it: it would
// stay for ever.
TEST(Finished, ItsTimeToLiveCountsAlsoWhenItWasSuspendedAtTheEnd) {
  const Plan plan =
      Reconcile(Ended(EndedJob().Suspended().RunPolicy("ttlSecondsAfterFinished", "0")).At(3600));
  EXPECT_THAT(Names(plan, ActionKind::kDeleteJob), ElementsAre("j"));
}

TEST(Finished, SuspendIsIgnored) {
  const Plan plan =
      Reconcile(Ended(EndedJob().Suspended().RunPolicy("cleanPodPolicy", "\"None\"")));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.status_write, StatusWrite::kNone);
}

TEST(Finished, AnOldJobWithoutCompletionTimeGetsOne) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(1).Succeeded(7).Without("/status/completionTime")).At(50));
  EXPECT_EQ(plan.status.completion_time, After(7));
  EXPECT_EQ(plan.status_write, StatusWrite::kNow);
}

TFJob WithTtl(const char* ttl) {
  return TFJob("j").Workers(1).RunPolicy("ttlSecondsAfterFinished", ttl).Succeeded(100);
}

TEST(Ttl, DeletesTheJobToTheSecond) {
  const Plan early = Reconcile(SnapshotOf(WithTtl("30")).At(129.5));
  EXPECT_THAT(early.actions, IsEmpty());
  EXPECT_EQ(early.requeue_at, After(130));
  const Plan due = Reconcile(SnapshotOf(WithTtl("30")).At(130));
  EXPECT_THAT(Names(due, ActionKind::kDeleteJob), ElementsAre("j"));
  EXPECT_EQ(due.actions[0].uid, "job-uid");
  EXPECT_EQ(due.counters.deleted, 1);
}

TEST(Ttl, OfZeroDeletesAtTheFirstFinishedPass) {
  EXPECT_THAT(Names(Reconcile(SnapshotOf(WithTtl("0")).At(100)), ActionKind::kDeleteJob),
              ElementsAre("j"));
}

TEST(Ttl, UnsetKeepsTheJob) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Succeeded()).At(1e9));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_FALSE(plan.requeue_at);
}

TEST(Ttl, CleansUpMeanwhile) {
  const Plan plan = Reconcile(SnapshotOf(WithTtl("30").RunPolicy("cleanPodPolicy", "\"All\""))
                                  .WithPod("j-worker-0", Succeeded())
                                  .At(110));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-0"));
  EXPECT_EQ(plan.requeue_at, After(130));
}

TEST(Ttl, OfAFailedJobCountsToo) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(1).RunPolicy("ttlSecondsAfterFinished", "1").Failed(100))
          .At(101));
  EXPECT_THAT(Names(plan, ActionKind::kDeleteJob), ElementsAre("j"));
}

TEST(Ttl, OfAJobWithoutCompletionTimeStartsAtItsEnd) {
  const Plan plan = Reconcile(SnapshotOf(WithTtl("30").Without("/status/completionTime")).At(130));
  EXPECT_THAT(Names(plan, ActionKind::kDeleteJob), ElementsAre("j"));
}

}  // namespace
}  // namespace tensorfleet::plan
