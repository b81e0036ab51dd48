// The first pass over a job, and jobs that are not ours to touch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using testing::Apply;
using testing::ConditionsOf;
using ::testing::ElementsAre;
using testing::EventReasons;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using testing::PodsCreated;
using testing::Running;
using testing::ServicesCreated;
using testing::SnapshotOf;
using testing::TFJob;

TEST(FirstPass, CreatesAllPodsAndServicesAtOnce) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("mnist").Ps(1).Workers(2)));
  EXPECT_THAT(PodsCreated(plan), ElementsAre("mnist-ps-0", "mnist-worker-0", "mnist-worker-1"));
  EXPECT_THAT(ServicesCreated(plan), ElementsAre("mnist-ps-0", "mnist-worker-0", "mnist-worker-1"));
}

TEST(FirstPass, NamesComeBeforeThePodsThatUseThem) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("mnist").Workers(1)));
  ASSERT_EQ(plan.actions.size(), 2u);
  EXPECT_EQ(plan.actions[0].kind, ActionKind::kCreateService);
  EXPECT_EQ(plan.actions[1].kind, ActionKind::kCreatePod);
}

TEST(FirstPass, VisitsTypesInTheContractsOrder) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Ps(1).Evaluator().Chief()));
  EXPECT_THAT(PodsCreated(plan), ElementsAre("j-chief-0", "j-evaluator-0", "j-ps-0", "j-worker-0"));
}

TEST(FirstPass, WritesCreatedAndTheStartTimeInOneStatusWrite) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("mnist").Workers(1)));
  EXPECT_EQ(plan.status_write, StatusWrite::kNow);
  ASSERT_EQ(ConditionsOf(plan.status), "Created");
  EXPECT_EQ(plan.status.conditions[0].reason, "TFJobCreated");
  EXPECT_EQ(plan.status.conditions[0].message, "TFJob mnist is created.");
  EXPECT_EQ(plan.status.start_time, kStart);
}

TEST(FirstPass, CountsTheJobAsCreatedOnce) {
  const Snapshot first = SnapshotOf(TFJob("mnist").Workers(1));
  const Plan plan = Reconcile(first);
  EXPECT_EQ(plan.counters.created, 1);
  EXPECT_EQ(Reconcile(Apply(plan, first)).counters.created, 0);
}

TEST(FirstPass, SaysNothingInEvents) {
  EXPECT_THAT(Reconcile(SnapshotOf(TFJob("mnist").Workers(1))).events, IsEmpty());
}

TEST(FirstPass, CutsTimesToWholeSeconds) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("mnist").Workers(1)).At(0.9));
  EXPECT_EQ(plan.status.start_time, kStart);
}

TEST(FirstPass, KeepsTheStartTimeThatIsThere) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("mnist").Workers(1).Started(0)).At(50));
  EXPECT_EQ(plan.status.start_time, kStart);
}

TEST(ForeignJob, OneBeingDeletedIsLeftAlone) {
  const Plan plan = Reconcile(SnapshotOf(
      TFJob("mnist").Workers(1).With("/metadata/deletionTimestamp", "\"2024-01-05T23:00:00Z\"")));
  EXPECT_EQ(plan.stopped_by, "skip-foreign");
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.status_write, StatusWrite::kNone);
}

class ManagedByOther : public ::testing::TestWithParam<const char*> {};

TEST_P(ManagedByOther, IsNotWrittenToAtAll) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("mnist").Workers(1).RunPolicy("managedBy", GetParam())));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(plan.events, IsEmpty());
  EXPECT_EQ(plan.status_write, StatusWrite::kNone);
}

INSTANTIATE_TEST_SUITE_P(Values, ManagedByOther,
                         ::testing::Values(R"("kueue.x-k8s.io/multikueue")", R"("")", R"("me")"));

TEST(ManagedByUs, IsReconciledAsUsual) {
  const Plan plan = Reconcile(SnapshotOf(
      TFJob("mnist").Workers(1).RunPolicy("managedBy", R"("kubeflow.org/training-operator")")));
  EXPECT_THAT(PodsCreated(plan), ElementsAre("mnist-worker-0"));
}

struct BadSpec {
  const char* name;
  TFJob job;
  const char* says;
};

class BadSpecs : public ::testing::TestWithParam<BadSpec> {};

// A bad spec gets a Failed condition with the field's path: never silence, never a loop.
TEST_P(BadSpecs, FailsWithTheFieldsPath) {
  const Snapshot before = SnapshotOf(GetParam().job);
  const Plan plan = Reconcile(before);
  EXPECT_EQ(plan.stopped_by, "refuse-invalid");
  EXPECT_THAT(plan.actions, IsEmpty());
  ASSERT_EQ(ConditionsOf(plan.status), "Created,Failed");
  EXPECT_EQ(plan.status.conditions[1].reason, "TFJobFailedValidation");
  EXPECT_THAT(plan.status.conditions[1].message, HasSubstr(GetParam().says));
  EXPECT_THAT(EventReasons(plan), ElementsAre("TFJobFailedValidation"));
  EXPECT_EQ(plan.status.completion_time, kStart);
  EXPECT_EQ(plan.counters.failed, 1);
  const Plan second = Reconcile(Apply(plan, before));
  EXPECT_THAT(second.actions, IsEmpty());
  EXPECT_EQ(second.status_write, StatusWrite::kNone);
  EXPECT_FALSE(second.requeue_at);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadSpecs,
    ::testing::Values(
        BadSpec{"NoReplicaTypes", TFJob("j"), "spec.tfReplicaSpecs: Required value"},
        BadSpec{"NoReplicaSpecs", TFJob("j").Without("/spec/tfReplicaSpecs"),
                "spec.tfReplicaSpecs: Required value: must be required"},
        BadSpec{"NoSpec", TFJob("j").Without("/spec"), "spec.tfReplicaSpecs: Required value"},
        BadSpec{"SpecIsNoObject", TFJob("j").With("/spec", "3"), "spec: Invalid value: number"},
        BadSpec{"NegativeReplicas", TFJob("j").Workers(-1),
                "spec.tfReplicaSpecs[Worker].replicas: Invalid value: -1"},
        BadSpec{"TooManyReplicas", TFJob("j").Workers(2'000'000'000),
                "spec.tfReplicaSpecs[Worker].replicas: Invalid value: 2000000000"},
        BadSpec{"ReplicasIsText",
                TFJob("j").Workers(1).With("/spec/tfReplicaSpecs/Worker/replicas", "\"two\""),
                "spec.tfReplicaSpecs[Worker].replicas: Invalid value: \"two\""},
        BadSpec{"UnknownType", TFJob("j").Workers(1).Replicas("Foo", 1),
                "spec.tfReplicaSpecs[Foo]: Unsupported value: \"Foo\""},
        BadSpec{"ChiefAndMaster", TFJob("j").Workers(1).Chief().Master(),
                "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"},
        BadSpec{"ChiefAndMasterInAnyCase", TFJob("j").Replicas("chief", 1).Replicas("MASTER", 1),
                "must not have more than 1 Chief or Master role"},
        BadSpec{"TwoChiefs", TFJob("j").Chief(2),
                "spec.tfReplicaSpecs[Chief].replicas: Invalid value: 2"},
        BadSpec{"UnknownRestartPolicy", TFJob("j").Workers(1).RestartPolicy("Sometimes"),
                "spec.tfReplicaSpecs[Worker].restartPolicy: Unsupported value: \"Sometimes\""},
        BadSpec{"UnknownCleanPodPolicy",
                TFJob("j").Workers(1).RunPolicy("cleanPodPolicy", "\"Some\""),
                "spec.runPolicy.cleanPodPolicy: Unsupported value: \"Some\""},
        BadSpec{"UnknownSuccessPolicy", TFJob("j").Workers(1).SuccessPolicy("Most"),
                "spec.successPolicy: Unsupported value: \"Most\""},
        BadSpec{"NegativeBackoffLimit", TFJob("j").Workers(1).RunPolicy("backoffLimit", "-1"),
                "spec.runPolicy.backoffLimit: Invalid value: -1"},
        BadSpec{"NegativeDeadline", TFJob("j").Workers(1).RunPolicy("activeDeadlineSeconds", "-1"),
                "spec.runPolicy.activeDeadlineSeconds: Invalid value: -1"},
        BadSpec{"NegativeTtl", TFJob("j").Workers(1).RunPolicy("ttlSecondsAfterFinished", "-9"),
                "spec.runPolicy.ttlSecondsAfterFinished: Invalid value: -9"},
        BadSpec{"NoContainers",
                TFJob("j").Workers(1).With("/spec/tfReplicaSpecs/Worker/template/spec/containers",
                                           "[]"),
                "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value: must be "
                "specified"},
        BadSpec{"NoTemplate", TFJob("j").Workers(1).Without("/spec/tfReplicaSpecs/Worker/template"),
                "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value"},
        BadSpec{"NoImage",
                TFJob("j").Workers(1).Without(
                    "/spec/tfReplicaSpecs/Worker/template/spec/containers/0/image"),
                "spec.tfReplicaSpecs[Worker].template.spec.containers[0].image: Required value"},
        BadSpec{"NoTensorflowContainer",
                TFJob("j").Workers(1).With(
                    "/spec/tfReplicaSpecs/Worker/template/spec/containers/0/name", "\"main\""),
                "must have at least one container with name tensorflow"},
        BadSpec{"NameOfTheLongestChildIsTooLong",
                TFJob("a-name-that-is-fifty-three-characters-long-and-a-bit-x").Evaluator(10),
                "metadata.name: Invalid value"},
        BadSpec{"BadName", TFJob("00test").Workers(1), "metadata.name: Invalid value: \"00test\""},
        BadSpec{"BadPort",
                TFJob("j").Workers(1).With(
                    "/spec/tfReplicaSpecs/Worker/template/spec/containers/0/ports",
                    R"([{"name":"tfjob-port","containerPort":70000}])"),
                "containers[0].ports[0].containerPort: Invalid value: 70000"}),
    [](const auto& info) { return info.param.name; });

TEST(BadSpec, WhatTrainingOperatorBoreDoesNotEndAJobThatItStarted) {
  for (const TFJob& job :
       {TFJob("j").Workers(1).RunPolicy("cleanPodPolicy", "\"Some\"").Running(),
        TFJob("j").Workers(1).SuccessPolicy("Most").Running(),
        TFJob("j").Workers(1).Replicas("Foo", 1).Running(), TFJob("j").Chief(2).Running()}) {
    const Plan plan = Reconcile(SnapshotOf(job).WithAllPods(Running()).WithAllServices());
    EXPECT_EQ(plan.stopped_by, "") << job.name();
    EXPECT_FALSE(plan.status.IsTrue("Failed"));
  }
}

TEST(BadSpec, AnEditThatBreaksALiveJobFailsIt) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).RestartPolicy("Sometimes").Running())
                                  .WithAllPods(Running()));
  EXPECT_EQ(ConditionsOf(plan.status), "Created,Running(False),Failed");
}

TEST(Steps, HaveTheOrderThatTheDocumentationGives) {
  EXPECT_THAT(
      StepNames(),
      ElementsAre("skip-foreign", "settle-finished", "note-created", "refuse-invalid", "suspend",
                  "resume", "start-clock", "report-troubles", "count-replicas", "take-progress",
                  "judge-success", "enforce-deadline", "enforce-pending-timeout", "judge-failures",
                  "enforce-backoff-limit", "restart-failed", "show-running", "scale-in",
                  "delete-stale", "ensure-pod-group", "ensure-services", "ensure-pods"));
}

}  // namespace
}  // namespace tensorfleet::plan
