// backoffLimit, activeDeadlineSeconds and failurePolicy.
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
using testing::Failed;
using ::testing::IsEmpty;
using testing::JobAttempt;
using testing::Pending;
using testing::PodsDeleted;
using testing::RestartedInPlace;
using testing::Running;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::TFJob;
using testing::TrueCondition;

struct InPlace {
  const char* name;
  const char* limit;
  const char* policy;
  int restarts;
  bool fails;
};

class BackoffInPlace : public ::testing::TestWithParam<InPlace> {};

TEST_P(BackoffInPlace, CountsRestartsOfRunningPods) {
  const InPlace& row = GetParam();
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j")
                               .Workers(1)
                               .RestartPolicy(row.policy)
                               .RunPolicy("backoffLimit", row.limit)
                               .Running())
                    .WithPod("j-worker-0", Running(), RestartedInPlace(row.restarts)));
  EXPECT_EQ(plan.status.IsTrue("Failed"), row.fails);
}

INSTANTIATE_TEST_SUITE_P(Table, BackoffInPlace,
                         ::testing::Values(InPlace{"Limit0Without", "0", "OnFailure", 0, false},
                                           InPlace{"Limit0With1", "0", "OnFailure", 1, true},
                                           InPlace{"Limit1With1", "1", "OnFailure", 1, true},
                                           InPlace{"Limit3With2", "3", "OnFailure", 2, false},
                                           InPlace{"Limit3With3", "3", "OnFailure", 3, true},
                                           InPlace{"AlwaysCounts", "1", "Always", 1, true},
                                           InPlace{"ExitCodeCounts", "1", "ExitCode", 1, true},
                                           InPlace{"NeverDoesNot", "0", "Never", 5, false}),
                         [](const auto& info) { return info.param.name; });

TEST(BackoffLimit, SumsOverPodsAndTypes) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Ps(1)
                                             .Workers(2)
                                             .RestartPolicy("OnFailure")
                                             .RunPolicy("backoffLimit", "3")
                                             .Running())
                                  .WithAllPods(Running(), RestartedInPlace(1)));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
  EXPECT_EQ(plan.status.conditions.back().message,
            "Job j has failed because it has reached the specified backoff limit");
  EXPECT_EQ(plan.status.conditions.back().reason, "TFJobFailed");
  EXPECT_THAT(EventReasons(plan), ElementsAre("TFJobFailed"));
  EXPECT_EQ(plan.counters.failed, 1);
  EXPECT_TRUE(plan.status.completion_time);
}

TEST(BackoffLimit, DoesNotLookAtPodsThatDoNotRun) {
  const Plan plan = Reconcile(
      SnapshotOf(
          TFJob("j").Workers(2).RestartPolicy("OnFailure").RunPolicy("backoffLimit", "2").Running())
          .WithPod("j-worker-0", Running())
          .WithPod("j-worker-1", Succeeded(), RestartedInPlace(4)));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
}

TEST(BackoffLimit, WithoutOneRestartsAreUnlimited) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).RestartPolicy("OnFailure").Running())
                                  .WithAllPods(Running(), RestartedInPlace(1000)));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
}

// training-operator forgot them with the pod: ExitCode restarts were unlimited.
TEST(BackoffLimit, CountsReplacedPodsToo) {
  const TFJob job =
      TFJob("j").Workers(1).RestartPolicy("ExitCode").RunPolicy("backoffLimit", "2").Running();
  Snapshot now = SnapshotOf(job).WithPod("j-worker-0", Failed(137)).WithAllServices();
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const Plan plan = Reconcile(now);
    EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-0"));
    now = Apply(plan, now);
    now.pods = {testing::MakePod("j", "j-worker-0", {Failed(137), Attempt(attempt)})};
  }
  const Plan last = Reconcile(now);
  EXPECT_TRUE(last.status.IsTrue("Failed"));
  EXPECT_THAT(PodsDeleted(last), IsEmpty());
}

TEST(BackoffLimit, ZeroFailsAtTheFirstReplacement) {
  const Plan plan = Reconcile(
      SnapshotOf(
          TFJob("j").Workers(1).RestartPolicy("ExitCode").RunPolicy("backoffLimit", "0").Running())
          .WithAllPods(Failed(137)));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

TEST(BackoffLimit, CountsRestartsOfTheWholeJob) {
  const TFJob job = TFJob("j")
                        .Workers(2)
                        .RestartPolicy("ExitCode")
                        .RunPolicy("backoffLimit", "1")
                        .Running()
                        .With("/spec/restartScope", "\"Job\"")
                        .With("/status/jobRestarts", "1");
  const Plan plan = Reconcile(SnapshotOf(job)
                                  .WithPod("j-worker-0", Running(), JobAttempt(1))
                                  .WithPod("j-worker-1", Failed(137), JobAttempt(1)));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

TEST(Restarts, InPlaceAreShownInStatus) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(2).RestartPolicy("OnFailure").Running())
                                  .WithAllPods(Running(), RestartedInPlace(2)));
  EXPECT_EQ(plan.status.restarts, 4);
}

TEST(Restarts, NeverGoDown) {
  const Plan plan = Reconcile(
      SnapshotOf(
          TFJob("j").Workers(1).RestartPolicy("OnFailure").Running().With("/status/restarts", "7"))
          .WithAllPods(Running()));
  EXPECT_EQ(plan.status.restarts, 7);
}

TEST(Deadline, NeedsNoOtherEventThanItsTime) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).RunPolicy("activeDeadlineSeconds", "60").Running())
                    .WithAllPods(Running())
                    .WithAllServices()
                    .At(59.999));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
  EXPECT_EQ(plan.requeue_at, After(60));
}

TEST(Deadline, FailsTheJobToTheSecond) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).RunPolicy("activeDeadlineSeconds", "60").Running())
                    .WithAllPods(Running())
                    .At(60));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running(False),Failed");
  EXPECT_EQ(plan.status.conditions.back().message,
            "Job j has failed because it was active longer than specified deadline");
  EXPECT_THAT(EventReasons(plan), ElementsAre("TFJobFailed"));
  EXPECT_EQ(plan.counters.failed, 1);
  EXPECT_EQ(plan.status.completion_time, After(60));
}

TEST(Deadline, CountsPendingTime) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).RunPolicy("activeDeadlineSeconds", "60").Started())
                    .WithAllPods(Pending())
                    .At(60));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

TEST(Deadline, OfZeroFailsAtOnce) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).RunPolicy("activeDeadlineSeconds", "0")));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST(Deadline, StartsAnewWhenTheJobIsResumed) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(1)
                                             .RunPolicy("activeDeadlineSeconds", "60")
                                             .Started()
                                             .Condition("Suspended"))
                                  .At(500));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
  EXPECT_EQ(plan.requeue_at, After(560));
}

TEST(Deadline, OfVeryLongJobsDoesNotOverflow) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(1).RunPolicy("activeDeadlineSeconds", "9223372036854775807")));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
}

constexpr char kRules[] = "/spec/failurePolicy/rules";

Plan FailWith(
    const char* rules, const char* policy, testing::Change pod,
    testing::Change more = [](nlohmann::json&) {}) {
  return Reconcile(
      SnapshotOf(TFJob("j").Ps(1).Workers(2).RestartPolicy(policy).Running().With(kRules, rules))
          .WithPod("j-ps-0", Running())
          .WithPod("j-worker-0", Running())
          .WithPod("j-worker-1", pod, more));
}

TEST(FailurePolicy, AnExitCodeMayFailTheJobThoughThePolicyRestarts) {
  const Plan plan =
      FailWith(R"([{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}])",
               "OnFailure", Failed(42));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

TEST(FailurePolicy, AnotherExitCodeIsLeftToTheRestartPolicy) {
  const Plan plan =
      FailWith(R"([{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}])",
               "OnFailure", Failed(41));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-1"));
}

TEST(FailurePolicy, AnExitCodeMayBeRestartedThoughThePolicyIsNever) {
  const Plan plan =
      FailWith(R"([{"action":"Restart","onExitCodes":{"operator":"In","values":[1,42]}}])", "Never",
               Failed(42));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-1"));
  EXPECT_EQ(plan.status.restarts, 1);
}

TEST(FailurePolicy, NotInMatchesTheOthers) {
  const char* rules = R"([{"action":"Restart","onExitCodes":{"operator":"NotIn","values":[1]}}])";
  EXPECT_THAT(PodsDeleted(FailWith(rules, "Never", Failed(2))), ElementsAre("j-worker-1"));
  EXPECT_TRUE(FailWith(rules, "Never", Failed(1)).status.IsTrue("Failed"));
}

TEST(FailurePolicy, AConditionMayBeIgnoredSoThatItDoesNotCount) {
  const Plan plan = FailWith(R"([{"action":"Ignore","onPodConditions":["DisruptionTarget"]}])",
                             "Never", Failed(143), TrueCondition("DisruptionTarget"));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-1"));
  EXPECT_THAT(plan.status.replica_statuses.at(api::ReplicaType::kWorker).restarts_by_index,
              IsEmpty());
}

TEST(FailurePolicy, ARuleMayRestartTheWholeJob) {
  const Plan plan =
      FailWith(R"([{"action":"RestartJob","onExitCodes":{"operator":"In","values":[3]}}])",
               "OnFailure", Failed(3));
  EXPECT_EQ(PodsDeleted(plan).size(), 3u);
  EXPECT_EQ(plan.status.job_restarts, 1);
}

TEST(FailurePolicy, ARuleMayBeForSomeTypesOnly) {
  const Plan plan = FailWith(
      R"([{"action":"Restart","replicaTypes":["PS"],"onExitCodes":{"operator":"In","values":[3]}}])",
      "Never", Failed(3));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

TEST(FailurePolicy, TheFirstMatchDecides) {
  const Plan plan = FailWith(R"([{"action":"Restart","onExitCodes":{"operator":"In","values":[3]}},
                                 {"action":"FailJob","onExitCodes":{"operator":"In","values":[3]}}])",
                             "Never", Failed(3));
  EXPECT_THAT(PodsDeleted(plan), ElementsAre("j-worker-1"));
}

TEST(FailurePolicy, ARulesConditionsMustAllHold) {
  const Plan plan = FailWith(R"([{"action":"Restart","onExitCodes":{"operator":"In","values":[3]},
                                  "onPodConditions":["DisruptionTarget"]}])",
                             "Never", Failed(3));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

TEST(MaxRestartsPerReplica, FailsTheJobWhenOneReplicaHasUsedThemUp) {
  const TFJob job = TFJob("j")
                        .Workers(2)
                        .RestartPolicy("ExitCode")
                        .Running()
                        .With("/spec/failurePolicy/maxRestartsPerReplica", "1")
                        .With("/status/replicaStatuses/Worker", R"({"restartsByIndex":{"1":1}})");
  EXPECT_TRUE(Reconcile(SnapshotOf(job)
                            .WithPod("j-worker-0", Running())
                            .WithPod("j-worker-1", Failed(137), Attempt(1)))
                  .status.IsTrue("Failed"));
  EXPECT_THAT(PodsDeleted(Reconcile(SnapshotOf(job)
                                        .WithPod("j-worker-0", Failed(137))
                                        .WithPod("j-worker-1", Running(), Attempt(1)))),
              ElementsAre("j-worker-0"));
}

Plan WithFailedWorkers(const char* max, int failed, int of) {
  SnapshotOf now(TFJob("j")
                     .Ps(1)
                     .Workers(of)
                     .SuccessPolicy("AllWorkers")
                     .Running()
                     .With("/spec/failurePolicy/maxFailedWorkers", max));
  now.WithPod("j-ps-0", Running()).WithService("j-ps-0");
  for (int i = 0; i < of; ++i) {
    const std::string name = "j-worker-" + std::to_string(i);
    now.WithPod(name, i < failed ? Failed(1) : Running()).WithService(name);
  }
  return Reconcile(now);
}

TEST(MaxFailedWorkers, ManyAreBorne) {
  const Plan plan = WithFailedWorkers("2", 2, 5);
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running");
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.status.replica_statuses.at(api::ReplicaType::kWorker).failed, 2);
}

TEST(MaxFailedWorkers, OneMoreFailsTheJob) {
  const Plan plan = WithFailedWorkers("2", 3, 5);
  EXPECT_EQ(plan.status.conditions.back().message,
            "TFJob ns/j has failed because 3 Worker replica(s) failed.");
}

TEST(MaxFailedWorkers, MayBeAPercentageRoundedDown) {
  EXPECT_FALSE(WithFailedWorkers("\"50%\"", 2, 5).status.IsTrue("Failed"));
  EXPECT_TRUE(WithFailedWorkers("\"50%\"", 3, 5).status.IsTrue("Failed"));
}

TEST(MaxFailedWorkers, DoesNotBearParameterServers) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(1).Running().With(
                                             "/spec/failurePolicy/maxFailedWorkers", "2"))
                                  .WithPod("j-ps-0", Failed(1))
                                  .WithPod("j-worker-0", Running()));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

TEST(MaxFailedWorkers, DoesNotBearWhatARuleFails) {
  const Plan plan = Reconcile(
      SnapshotOf(
          TFJob("j")
              .Workers(2)
              .Running()
              .With("/spec/failurePolicy/maxFailedWorkers", "1")
              .With(kRules,
                    R"([{"action":"FailJob","onExitCodes":{"operator":"In","values":[9]}}])"))
          .WithPod("j-worker-0", Running())
          .WithPod("j-worker-1", Failed(9)));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

TEST(MaxFailedWorkers, TheRestMaySucceedWithoutThem) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Workers(2)
                                             .SuccessPolicy("AllWorkers")
                                             .Running()
                                             .With("/spec/failurePolicy/maxFailedWorkers", "1"))
                                  .WithPod("j-worker-0", Succeeded())
                                  .WithPod("j-worker-1", Failed(1)));
  EXPECT_TRUE(plan.status.IsTrue("Succeeded"));
}

TEST(MaxFailedWorkers, AJobOfWhichNothingIsLeftFails) {
  EXPECT_TRUE(WithFailedWorkers("\"100%\"", 3, 3).status.IsTrue("Failed"));
}

TEST(DynamicWorkers, AFailedOneDoesNotFailTheJob) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(2).DynamicWorkers().Running())
                                  .WithPod("j-ps-0", Running())
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Failed(1))
                                  .WithAllServices());
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running");
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST(DynamicWorkers, AFailedParameterServerStillDoes) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(1).DynamicWorkers().Running())
                                  .WithPod("j-ps-0", Failed(1))
                                  .WithPod("j-worker-0", Running()));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

TEST(DynamicWorkers, APermanentExitCodeStillFailsTheJob) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(2).DynamicWorkers().RestartPolicy("ExitCode").Running())
          .WithPod("j-worker-0", Running())
          .WithPod("j-worker-1", Failed(1)));
  EXPECT_TRUE(plan.status.IsTrue("Failed"));
}

}  // namespace
}  // namespace tensorfleet::plan
