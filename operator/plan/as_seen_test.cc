// What is seen may be old, most of all by an operator that has just taken over: which decisions
// hold only while things are as they were seen, and what makes sure of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using testing::After;
using testing::ConditionsOf;
using ::testing::ElementsAre;
using testing::Failed;
using ::testing::IsEmpty;
using testing::JobAttempt;
using testing::OnlySidecarsRun;
using testing::Pending;
using testing::PodsCreated;
using testing::Running;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::Terminating;
using testing::TFJob;
using ::testing::UnorderedElementsAre;

// Names of the pods that the plan deletes only if they have not changed.
std::vector<std::string> DeletedAsSeen(const Plan& plan) {
  std::vector<std::string> names;
  for (const Action& action : plan.actions) {
    if (action.kind != ActionKind::kDeletePod || action.resource_version.empty()) continue;
    EXPECT_EQ(action.resource_version, "1");  // the builders' pods have that one
    names.push_back(action.name);
  }
  return names;
}

std::vector<std::string> DeletedWhatever(const Plan& plan) {
  std::vector<std::string> names;
  for (const Action& action : plan.actions) {
    if (action.kind == ActionKind::kDeletePod && action.resource_version.empty()) {
      names.push_back(action.name);
    }
  }
  return names;
}

TEST(AsSeen, CleanPodPolicyRunningTakesNoPodThatHasEndedMeanwhile) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Chief().Ps(1).Workers(1).Succeeded().RunPolicy(
                                             "cleanPodPolicy", "\"Running\""))
                                  .WithPod("j-chief-0", Succeeded())
                                  .WithPod("j-ps-0", Running())
                                  .WithPod("j-worker-0", Pending()));
  EXPECT_THAT(DeletedAsSeen(plan), UnorderedElementsAre("j-ps-0", "j-worker-0"));
  EXPECT_THAT(DeletedWhatever(plan), IsEmpty());
}

TEST(AsSeen, ParameterServersThatEndedMeanwhileKeepTheirLogs) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(1).Succeeded())
                                  .WithPod("j-ps-0", Running())
                                  .WithPod("j-worker-0", Succeeded()));
  EXPECT_THAT(DeletedAsSeen(plan), ElementsAre("j-ps-0"));
}

TEST(AsSeen, PodsThatOnlySidecarsKeptRunningAreNotTakenOnceTheyHaveEnded) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(1).Succeeded().With("/spec/replicaCompletion", "\"Container\""))
          .WithPod("j-worker-0", OnlySidecarsRun(0)));
  EXPECT_THAT(DeletedAsSeen(plan), ElementsAre("j-worker-0"));
}

TEST(AsSeen, CleanPodPolicyAllTakesPodsInWhateverState) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(2).Succeeded().RunPolicy("cleanPodPolicy", "\"All\""))
                    .WithPod("j-worker-0", Succeeded())
                    .WithPod("j-worker-1", Running()));
  EXPECT_THAT(DeletedWhatever(plan), UnorderedElementsAre("j-worker-0", "j-worker-1"));
  EXPECT_THAT(DeletedAsSeen(plan), IsEmpty());
}

TEST(AsSeen, AFailedPodIsReplacedWhateverElseIsSaidOfIt) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).RestartPolicy("ExitCode").Running())
                                  .WithPod("j-worker-0", Failed(137)));
  EXPECT_THAT(DeletedWhatever(plan), ElementsAre("j-worker-0"));
}

TFJob RestartingTogether() {
  return TFJob("j")
      .Chief()
      .Workers(1)
      .RestartPolicy("ExitCode")
      .Running()
      .With("/spec/restartScope", "\"Job\"");
}

TEST(AsSeen, ARestartOfAllTakesNoPodThatHasDoneItsWorkMeanwhile) {
  const Plan plan = Reconcile(SnapshotOf(RestartingTogether())
                                  .WithPod("j-chief-0", Running())
                                  .WithPod("j-worker-0", Failed(137)));
  EXPECT_EQ(plan.status.job_restarts, 1);
  EXPECT_THAT(DeletedAsSeen(plan), ElementsAre("j-chief-0"));
  EXPECT_THAT(DeletedWhatever(plan), ElementsAre("j-worker-0"));
}

TEST(AsSeen, AChiefThatHadDoneItsWorkWhenAllWereToStartOverEndsTheJob) {
  const Plan plan = Reconcile(SnapshotOf(RestartingTogether().With("/status/jobRestarts", "1"))
                                  .WithPod("j-chief-0", Succeeded())
                                  .WithPod("j-worker-0", Failed(137), Terminating()));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running(False),Succeeded");
  EXPECT_THAT(DeletedWhatever(plan), IsEmpty());
}

TEST(AsSeen, SoDoesTheFirstWorkerWhereItDecides) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(2)
                                             .RestartPolicy("ExitCode")
                                             .Running()
                                             .With("/spec/restartScope", "\"Job\"")
                                             .With("/status/jobRestarts", "1"))
                                  .WithPod("j-worker-0", Succeeded())
                                  .WithPod("j-worker-1", Failed(137), Terminating()));
  EXPECT_TRUE(plan.status.IsTrue("Succeeded"));
}

TEST(AsSeen, WorkersThatHadAllToEndStartOverTogether) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(2)
                                             .RestartPolicy("ExitCode")
                                             .Running()
                                             .SuccessPolicy("AllWorkers")
                                             .With("/spec/restartScope", "\"Job\"")
                                             .With("/status/jobRestarts", "1"))
                                  .WithPod("j-worker-0", Succeeded())
                                  .WithPod("j-worker-1", Failed(137), Terminating()));
  EXPECT_FALSE(plan.status.IsTrue("Succeeded"));
  EXPECT_THAT(DeletedWhatever(plan), ElementsAre("j-worker-0"));
}

TEST(AsSeen, AChiefOfAnEarlierAttemptEndsNothing) {
  const Plan plan = Reconcile(SnapshotOf(RestartingTogether().With("/status/jobRestarts", "3"))
                                  .WithPod("j-chief-0", Succeeded(), JobAttempt(1)));
  EXPECT_FALSE(plan.status.IsTrue("Succeeded"));
}

TEST(AsSeen, APodOnALostNodeIsForcedAwayOnlyWhileItIsSilent) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j")
                               .Workers(1)
                               .RestartPolicy("OnFailure")
                               .Running()
                               .With("/spec/failurePolicy/lostPodTimeoutSeconds", "60"))
                    .WithPod("j-worker-0", Running(), Terminating(30))
                    .At(100));
  ASSERT_THAT(DeletedAsSeen(plan), ElementsAre("j-worker-0"));
  EXPECT_TRUE(plan.actions[0].force);
}

TEST(AsSeen, AJobWhoseTimeIsOverGoesOnlyIfNobodyHasGivenItMore) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(1).RunPolicy("ttlSecondsAfterFinished", "1").Succeeded())
          .At(100));
  ASSERT_EQ(plan.actions.size(), 1u);
  EXPECT_EQ(plan.actions[0].kind, ActionKind::kDeleteJob);
  EXPECT_EQ(plan.actions[0].resource_version, "1");
}

// The state of the pods does not matter, that of the job does: it may have been resumed, and these
// may be its new pods.
TEST(AsSeen, SuspensionIsConfirmedBeforeAPodIsDeleted) {
  const TFJob job = TFJob("j").Workers(1).Suspended().Running().Condition("Suspended");
  const Plan plan = Reconcile(SnapshotOf(job).WithAllPods(Running()));
  EXPECT_THAT(DeletedWhatever(plan), ElementsAre("j-worker-0"));
  EXPECT_EQ(plan.status_write, StatusWrite::kFirst);
}

TEST(AsSeen, AnInterruptedSuspensionIsConfirmedToo) {
  const TFJob job = TFJob("j").Workers(1).Started().Condition("Suspended");
  const Plan plan = Reconcile(SnapshotOf(job).WithAllPods(Running()));
  EXPECT_THAT(DeletedWhatever(plan), ElementsAre("j-worker-0"));
  EXPECT_EQ(plan.status_write, StatusWrite::kFirst);
}

TEST(AsSeen, ASuspendedJobWithoutPodsIsNotWrittenAgain) {
  const Plan first = Reconcile(SnapshotOf(TFJob("j").Workers(1).Suspended()));
  const Plan again = Reconcile(SnapshotOf(TFJob("j").Workers(1).Suspended().Status(first.status)));
  EXPECT_EQ(again.status_write, StatusWrite::kNone);
}

}  // namespace
}  // namespace tensorfleet::plan
