// What status says beyond conditions, when it is written, and what is told in events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using api::ReplicaType;
using testing::After;
using testing::Annotated;
using testing::Apply;
using ::testing::ElementsAre;
using testing::EventReasons;
using testing::Evicted;
using testing::Failed;
using ::testing::IsEmpty;
using testing::Pending;
using testing::Running;
using testing::RunningNotReady;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::Terminating;
using testing::TFJob;
using testing::Waiting;

TEST(ReplicaStatuses, CountPodsByPhase) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j")
                                             .Ps(1)
                                             .Workers(4)
                                             .RestartPolicy("OnFailure")
                                             .SuccessPolicy("AllWorkers")
                                             .Started())
                                  .WithPod("j-ps-0", Running())
                                  .WithPod("j-worker-0", Running())
                                  .WithPod("j-worker-1", Succeeded())
                                  .WithPod("j-worker-2", Failed(1))
                                  .WithPod("j-worker-3", Pending()));
  const api::ReplicaStatus& worker = plan.status.replica_statuses.at(ReplicaType::kWorker);
  EXPECT_EQ(worker.active, 1);
  EXPECT_EQ(worker.succeeded, 1);
  EXPECT_EQ(worker.failed, 1);
  EXPECT_EQ(plan.status.replica_statuses.at(ReplicaType::kPs).active, 1);
}

TEST(ReplicaStatuses, HaveASelectorForScaling) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1)));
  EXPECT_EQ(plan.status.replica_statuses.at(ReplicaType::kWorker).selector,
            "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=tfjob-controller,"
            "training.kubeflow.org/replica-type=worker");
}

TEST(ReplicaStatuses, ExistForEveryTypeOfTheSpec) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Chief().Ps(1).Workers(1).Evaluator()));
  EXPECT_EQ(plan.status.replica_statuses.size(), 4u);
}

TEST(Ready, CountsReadyPodsOfThoseWanted) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(3).RestartPolicy("OnFailure").Started())
                    .WithPod("j-ps-0", Running())
                    .WithPod("j-worker-0", Running())
                    .WithPod("j-worker-1", RunningNotReady())
                    .WithPod("j-worker-2", Running(), Terminating()));
  EXPECT_EQ(plan.status.ready, "2/4");
}

TEST(Ready, OfAFinishedJobIsNone) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(1).Running())
                                  .WithPod("j-ps-0", Running())
                                  .WithPod("j-worker-0", Succeeded()));
  EXPECT_EQ(plan.status.ready, "0/2");
}

TEST(StatusWrite, IsLeftOutWhenNothingChanged) {
  const Snapshot before =
      SnapshotOf(TFJob("j").Workers(2)).WithAllPods(Running()).WithAllServices();
  EXPECT_EQ(Reconcile(Apply(Reconcile(before), before)).status_write, StatusWrite::kNone);
}

// Five pods that become Running one after the other shall not cost five writes.
TEST(StatusWrite, OfCountsMayWait) {
  const Snapshot before = SnapshotOf(TFJob("j").Workers(3).Started())
                              .WithPod("j-worker-0", Running())
                              .WithPod("j-worker-1", Pending())
                              .WithPod("j-worker-2", Pending());
  Snapshot after = Apply(Reconcile(before), before);
  after.pods[1] = testing::MakePod("j", "j-worker-1", {Running()});
  EXPECT_EQ(Reconcile(after).status_write, StatusWrite::kSoon);
}

TEST(StatusWrite, OfRunningMayWaitForTheOtherPods) {
  SnapshotOf now(TFJob("j").Workers(2).Started());
  now.WithPod("j-worker-0", Running()).WithAllServices();
  EXPECT_EQ(Reconcile(now).status_write, StatusWrite::kSoon);
  EXPECT_EQ(Reconcile(now.WithPod("j-worker-1", Running())).status_write, StatusWrite::kNow);
}

TEST(StatusWrite, OfAnEndMayNotWait) {
  EXPECT_EQ(
      Reconcile(SnapshotOf(TFJob("j").Workers(2).Running()).WithAllPods(Failed(1))).status_write,
      StatusWrite::kNow);
}

constexpr char kProgress[] = "tensorfleet.dev/progress";

Plan WithProgress(const char* text) {
  return Reconcile(SnapshotOf(TFJob("j").Chief().Workers(1).Running())
                       .WithPod("j-chief-0", Running(), Annotated(kProgress, text))
                       .WithPod("j-worker-0", Running(), Annotated(kProgress, R"({"step":99999})"))
                       .At(5));
}

TEST(Progress, IsTakenFromTheChief) {
  const Plan plan = WithProgress(R"({"step":1200,"checkpoint":"/ckpt/model-1000",
                                     "stepsPerSecond":3.5,"examplesPerSecond":448})");
  ASSERT_TRUE(plan.status.progress);
  EXPECT_EQ(plan.status.progress->step, 1200);
  EXPECT_EQ(plan.status.progress->checkpoint, "/ckpt/model-1000");
  EXPECT_EQ(plan.status.progress->steps_per_second, 3.5);
  EXPECT_EQ(plan.status.progress->examples_per_second, 448);
  EXPECT_EQ(plan.status.progress->time, After(5));
}

TEST(Progress, IsTakenFromWorkerZeroWhereThereIsNoChief) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(2).Running())
                    .WithPod("j-worker-0", Running(), Annotated(kProgress, R"({"step":7})"))
                    .WithPod("j-worker-1", Running()));
  EXPECT_EQ(plan.status.progress->step, 7);
}

class BadProgress : public ::testing::TestWithParam<const char*> {};

TEST_P(BadProgress, IsIgnored) { EXPECT_FALSE(WithProgress(GetParam()).status.progress); }

INSTANTIATE_TEST_SUITE_P(Texts, BadProgress,
                         ::testing::Values("", "no json", "3", "[]", "{}", R"({"step":-1})",
                                           R"({"step":"many"})",
                                           R"({"time":"2024-01-05T22:58:20Z"})"));

TEST(Progress, OverlongTextIsIgnored) {
  EXPECT_FALSE(WithProgress(("{\"checkpoint\":\"" + std::string(5000, 'x') + "\"}").c_str())
                   .status.progress);
}

TEST(Progress, ThatIsTheSameIsNotWrittenAgain) {
  const Snapshot before =
      SnapshotOf(TFJob("j").Workers(1).Running())
          .WithPod("j-worker-0", Running(), Annotated(kProgress, R"({"step":7})"))
          .WithAllServices();
  Snapshot after = Apply(Reconcile(before), before);
  after.now += absl::Seconds(60);
  EXPECT_EQ(Reconcile(after).status_write, StatusWrite::kNone);
}

TEST(Progress, AloneIsWrittenOnlyNowAndThen) {
  const Snapshot before =
      SnapshotOf(TFJob("j").Workers(1).Running())
          .WithPod("j-worker-0", Running(), Annotated(kProgress, R"({"step":7})"))
          .WithAllServices();
  Snapshot after = Apply(Reconcile(before), before);
  after.pods[0] =
      testing::MakePod("j", "j-worker-0", {Running(), Annotated(kProgress, R"({"step":8})")});
  after.now = After(9);
  const Plan early = Reconcile(after);
  EXPECT_EQ(early.status_write, StatusWrite::kNone);
  EXPECT_EQ(early.status.progress->step, 7);
  EXPECT_EQ(early.requeue_at, After(10));
  after.now = After(10);
  const Plan due = Reconcile(after);
  EXPECT_EQ(due.status_write, StatusWrite::kSoon);
  EXPECT_EQ(due.status.progress->step, 8);
}

TEST(Progress, SurvivesTheJob) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(1).Running().With("/status/progress", R"({"step":7})"))
          .WithPod("j-worker-0", Succeeded()));
  EXPECT_EQ(plan.status.progress->step, 7);
}

TEST(Troubles, OfContainersThatWaitAreToldAboutTheJob) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(1).Started())
                    .WithPod("j-worker-0", Waiting("ImagePullBackOff", "no such image"))
                    .WithAllServices());
  ASSERT_THAT(EventReasons(plan), ElementsAre("ImagePullBackOff"));
  EXPECT_EQ(plan.events[0].type, EventType::kWarning);
  EXPECT_EQ(plan.events[0].message,
            "Error pod j-worker-0 container tensorflow waiting message: no such image");
}

TEST(Troubles, WithoutAMessageAreNotTold) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Started())
                                  .WithPod("j-worker-0", Waiting("ContainerCreating", ""))
                                  .WithAllServices());
  EXPECT_THAT(plan.events, IsEmpty());
}

TEST(Troubles, OfFinishedAndTerminatingPodsAreNotTold) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(2).RestartPolicy("OnFailure").Running())
                                  .WithPod("j-worker-0", Waiting("X", "y"), Terminating())
                                  .WithPod("j-worker-1", Running())
                                  .WithAllServices());
  EXPECT_THAT(plan.events, IsEmpty());
}

struct Outcome {
  ActionKind kind;
  bool ok;
  const char* reason;
  const char* message;
};

class EventOfAction : public ::testing::TestWithParam<Outcome> {};

TEST_P(EventOfAction, HasTheContractsWords) {
  Action action;
  action.kind = GetParam().kind;
  action.name = "x";
  const auto event = EventFor(action, GetParam().ok ? OkStatus() : Internal("boom"));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->reason, GetParam().reason);
  EXPECT_EQ(event->message, GetParam().message);
  EXPECT_EQ(event->type, GetParam().ok ? EventType::kNormal : EventType::kWarning);
}

INSTANTIATE_TEST_SUITE_P(
    Table, EventOfAction,
    ::testing::Values(
        Outcome{ActionKind::kCreatePod, true, "SuccessfulCreatePod", "Created pod: x"},
        Outcome{ActionKind::kCreatePod, false, "FailedCreatePod", "Error creating: boom"},
        Outcome{ActionKind::kDeletePod, true, "SuccessfulDeletePod", "Deleted pod: x"},
        Outcome{ActionKind::kDeletePod, false, "FailedDeletePod", "Error deleting: boom"},
        Outcome{ActionKind::kCreateService, true, "SuccessfulCreateService", "Created service: x"},
        Outcome{ActionKind::kCreateService, false, "FailedCreateService", "Error creating: boom"},
        Outcome{ActionKind::kDeleteService, true, "SuccessfulDeleteService", "Deleted service: x"},
        Outcome{ActionKind::kDeleteService, false, "FailedDeleteService", "Error deleting: boom"},
        Outcome{ActionKind::kDeletePodGroup, true, "SuccessfulDeletePodGroup",
                "Deleted PodGroup: x"},
        Outcome{ActionKind::kDeletePodGroup, false, "FailedDeletePodGroup", "Error deleting: boom"},
        Outcome{ActionKind::kDeleteJob, true, "SuccessfulDeleteJob", "Deleted job: x"},
        Outcome{ActionKind::kDeleteJob, false, "FailedDeleteJob", "Error deleting: boom"},
        Outcome{ActionKind::kAdoptService, false, "FailedAdoptService", "Error adopting: boom"}));

TEST(EventOfAction, ASuccessfulPatchIsNotTold) {
  Action action;
  action.kind = ActionKind::kAdoptService;
  EXPECT_FALSE(EventFor(action, OkStatus()));
}

}  // namespace
}  // namespace tensorfleet::plan
