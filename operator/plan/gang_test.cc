#include "operator/plan/gang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::json;
using testing::Apply;
using testing::BodyOf;
using testing::EventReasons;
using testing::kStart;
using testing::Names;
using testing::OwnedBy;
using testing::PodsCreated;
using testing::Running;
using testing::SnapshotOf;
using testing::TFJob;

constexpr char kContainers[] = "/spec/tfReplicaSpecs/Worker/template/spec/containers/0";
constexpr char kQueued[] = R"({"minMember":3,"queue":"default"})";

Options Volcano() {
  Options options;
  options.gang_scheduler_name = "Volcano";
  return options;
}

Options Plugins() {
  Options options;
  options.gang_scheduler_name = "my-scheduler";
  return options;
}

Json GroupOf(const TFJob& job, const Options& options) {
  return BodyOf(Reconcile(SnapshotOf(job), options), ActionKind::kCreatePodGroup, "j");
}

TEST(Gang, IsOffByDefault) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1)));
  EXPECT_THAT(Names(plan, ActionKind::kCreatePodGroup), IsEmpty());
}

TEST(Gang, TheGroupComesBeforeEverythingElse) {
  for (const Options& options : {Volcano(), Plugins()}) {
    const Plan plan = Reconcile(SnapshotOf(TFJob("j").Ps(1).Workers(2)), options);
    ASSERT_EQ(plan.actions.size(), 1u);
    EXPECT_EQ(plan.actions[0].kind, ActionKind::kCreatePodGroup);
    EXPECT_EQ(plan.stopped_by, "ensure-pod-group");
    EXPECT_EQ(plan.status.last_reconcile_time, kStart);
  }
}

TEST(VolcanoGroup, HasTheJobsNameOwnerAndAnnotations) {
  const Json group =
      GroupOf(TFJob("j").Workers(3).With(
                  "/metadata/annotations",
                  R"({"a":"b","kubectl.kubernetes.io/last-applied-configuration":"{}"})"),
              Volcano());
  EXPECT_EQ(group["apiVersion"], "scheduling.volcano.sh/v1beta1");
  EXPECT_EQ(group["kind"], "PodGroup");
  EXPECT_EQ(group["metadata"]["annotations"], Json({{"a", "b"}}));
  EXPECT_EQ(group["metadata"]["ownerReferences"][0]["uid"], "job-uid");
  EXPECT_FALSE(group["metadata"].contains("labels"));
  EXPECT_EQ(group["spec"], Json({{"minMember", 3}, {"queue", "default"}}));
}

TEST(VolcanoGroup, TakesTheSchedulingPolicy) {
  const Json group = GroupOf(
      TFJob("j").Workers(3).RunPolicy("schedulingPolicy",
                                      R"({"minAvailable":2,"queue":"q","priorityClass":"high",
                                          "minResources":{"cpu":"7"},"scheduleTimeoutSeconds":9})"),
      Volcano());
  EXPECT_EQ(group["spec"], Json::parse(R"({"minMember":2,"queue":"q","priorityClassName":"high",
                                           "minResources":{"cpu":"7"}})"));
}

TEST(PluginsGroup, TakesTheSchedulingPolicy) {
  const Json group = GroupOf(
      TFJob("j").Workers(3).RunPolicy("schedulingPolicy",
                                      R"({"minAvailable":2,"queue":"q","priorityClass":"high",
                                          "minResources":{"cpu":"7"},"scheduleTimeoutSeconds":9})"),
      Plugins());
  EXPECT_EQ(group["apiVersion"], "scheduling.x-k8s.io/v1alpha1");
  EXPECT_EQ(group["spec"], Json::parse(R"({"minMember":2,"minResources":{"cpu":"7"},
                                           "scheduleTimeoutSeconds":9})"));
}

TEST(GroupResources, AreTheSumOverThePodsOfTheGroup) {
  const Json group = GroupOf(
      TFJob("j").Workers(3).With(std::string(kContainers) + "/resources",
                                 R"({"requests":{"cpu":"1500m","memory":"1Gi","nvidia.com/gpu":1},
                                     "limits":{"cpu":"99"}})"),
      Volcano());
  EXPECT_EQ(group["spec"]["minResources"],
            Json({{"cpu", "4500m"}, {"memory", "3Gi"}, {"nvidia.com/gpu", "3"}}));
}

TEST(GroupResources, LimitsStandInForMissingRequests) {
  const Json group = GroupOf(TFJob("j").Workers(2).With(std::string(kContainers) + "/resources",
                                                        R"({"limits":{"cpu":"2"}})"),
                             Volcano());
  EXPECT_EQ(group["spec"]["minResources"], Json({{"cpu", "4"}}));
}

TEST(GroupResources, CountOnlyTheFirstMinMemberPods) {
  const Json group =
      GroupOf(TFJob("j")
                  .Workers(5)
                  .With(std::string(kContainers) + "/resources", R"({"limits":{"cpu":"2"}})")
                  .RunPolicy("schedulingPolicy", R"({"minAvailable":2})"),
              Volcano());
  EXPECT_EQ(group["spec"]["minResources"], Json({{"cpu", "4"}}));
}

class VolcanoPhase : public ::testing::TestWithParam<std::pair<const char*, bool>> {};

TEST_P(VolcanoPhase, SaysWhetherPodsAreMade) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(3)).WithPodGroup(kQueued, GetParam().first), Volcano());
  EXPECT_EQ(PodsCreated(plan).size(), GetParam().second ? 3u : 0u);
}

INSTANTIATE_TEST_SUITE_P(Phases, VolcanoPhase,
                         ::testing::Values(std::pair{"", false}, std::pair{"Pending", false},
                                           std::pair{"Inqueue", true}, std::pair{"Running", true},
                                           std::pair{"Unknown", true}));

TEST(PluginsPhase, NeverDelaysPods) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(3)).WithPodGroup(R"({"minMember":3})", ""), Plugins());
  EXPECT_EQ(PodsCreated(plan).size(), 3u);
}

TEST(GangDelay, IsSteady) {
  const Snapshot before = SnapshotOf(TFJob("j").Workers(3)).WithPodGroup(kQueued, "Pending");
  const Plan plan = Reconcile(before, Volcano());
  Snapshot after = Apply(plan, before);
  after.now += absl::Seconds(100);
  EXPECT_EQ(Reconcile(after, Volcano()).status_write, StatusWrite::kNone);
}

TEST(GangPods, OfVolcanoCarryItsMarks) {
  const Json pod = BodyOf(
      Reconcile(SnapshotOf(TFJob("j").Workers(3)).WithPodGroup(kQueued, "Inqueue"), Volcano()),
      ActionKind::kCreatePod, "j-worker-0");
  EXPECT_EQ(pod["metadata"]["annotations"],
            Json({{"scheduling.k8s.io/group-name", "j"}, {"volcano.sh/task-spec", "worker"}}));
  EXPECT_EQ(pod["spec"]["schedulerName"], "volcano");
}

TEST(GangPods, OfSchedulerPluginsCarryItsMark) {
  const Json pod =
      BodyOf(Reconcile(SnapshotOf(TFJob("j").Workers(3)).WithPodGroup(R"({"minMember":3})", ""),
                       Plugins()),
             ActionKind::kCreatePod, "j-worker-0");
  EXPECT_EQ(pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"], "j");
  EXPECT_EQ(pod["spec"]["schedulerName"], "my-scheduler");
}

TEST(GangPods, KeepAnotherSchedulerWithAWarning) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(3).With(
                     "/spec/tfReplicaSpecs/Worker/template/spec/schedulerName", "\"mine\""))
          .WithPodGroup(kQueued, "Inqueue"),
      Volcano());
  EXPECT_EQ(BodyOf(plan, ActionKind::kCreatePod, "j-worker-0")["spec"]["schedulerName"], "mine");
  EXPECT_THAT(EventReasons(plan), ElementsAre("SetPodTemplateSchedulerName"));
}

TEST(GroupUpdate, HappensOnlyWhenSomethingDiffers) {
  const Plan same = Reconcile(
      SnapshotOf(TFJob("j").Workers(3).Started()).WithPodGroup(kQueued, "Inqueue"), Volcano());
  EXPECT_THAT(Names(same, ActionKind::kUpdatePodGroup), IsEmpty());
}

TEST(GroupUpdate, FollowsAChangeOfMinAvailable) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(3).Started().RunPolicy(
                                             "schedulingPolicy", R"({"minAvailable":1})"))
                                  .WithPodGroup(kQueued, "Pending"),
                              Volcano());
  ASSERT_THAT(Names(plan, ActionKind::kUpdatePodGroup), ElementsAre("j"));
  EXPECT_EQ(Json::parse(plan.actions[0].body)["spec"]["minMember"], 1);
}

TEST(GroupUpdate, KeepsTheQueueOfAnExistingGroup) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(3).Started().RunPolicy(
                                             "schedulingPolicy", R"({"queue":"asked"})"))
                                  .WithPodGroup(R"({"minMember":3,"queue":"moved"})", "Inqueue"),
                              Volcano());
  EXPECT_THAT(Names(plan, ActionKind::kUpdatePodGroup), IsEmpty());
}

TEST(GroupUpdate, WritesEqualAmountsOfResourcesTheSame) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(2).Started().With(std::string(kContainers) + "/resources",
                                                      R"({"requests":{"cpu":"500m"}})"))
          .WithPodGroup(R"({"minMember":2,"queue":"default","minResources":{"cpu":"1000m"}})",
                        "Inqueue"),
      Volcano());
  EXPECT_THAT(Names(plan, ActionKind::kUpdatePodGroup), IsEmpty());
}

TEST(GroupUpdate, RemovesWhatIsNotWantedAnyMore) {
  const Plan plan =
      Reconcile(SnapshotOf(TFJob("j").Workers(2).Started())
                    .WithPodGroup(R"({"minMember":2,"queue":"default","priorityClassName":"high",
                            "minResources":{"cpu":"1"}})",
                                  "Inqueue"),
                Volcano());
  const Json patch = Json::parse(plan.actions[0].body);
  EXPECT_TRUE(patch["spec"].contains("priorityClassName"));
  EXPECT_TRUE(patch["spec"]["priorityClassName"].is_null());
  EXPECT_TRUE(patch["spec"]["minResources"].is_null());
}

TEST(GroupOfAnotherOwner, IsLeftAloneAndHoldsThePodsBack) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(3).Started())
                                  .WithPodGroup(kQueued, "Inqueue", {OwnedBy("other")}),
                              Volcano());
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(EventReasons(plan), ElementsAre("NameTaken"));
  EXPECT_TRUE(plan.requeue_at);
}

// training-operator told of it, and made the group anew, at every later pass.
TEST(GroupOfAFinishedJob, IsDeletedOnce) {
  const Snapshot before =
      SnapshotOf(TFJob("j").Workers(3).Succeeded()).WithPodGroup(kQueued, "Running");
  const Plan plan = Reconcile(before, Volcano());
  EXPECT_THAT(Names(plan, ActionKind::kDeletePodGroup), ElementsAre("j"));
  EXPECT_THAT(EventReasons(plan), ElementsAre("JobTerminated"));
  EXPECT_EQ(plan.events[0].message, "Job has been terminated. Deleting PodGroup");
  const Plan second = Reconcile(Apply(plan, before), Volcano());
  EXPECT_THAT(second.actions, IsEmpty());
  EXPECT_THAT(second.events, IsEmpty());
}

TEST(GroupOfASuspendedJob, IsDeleted) {
  const Plan plan = Reconcile(
      SnapshotOf(TFJob("j").Workers(3).Suspended().Running()).WithPodGroup(kQueued, "Running"),
      Volcano());
  EXPECT_THAT(Names(plan, ActionKind::kDeletePodGroup), ElementsAre("j"));
}

}  // namespace
}  // namespace tensorfleet::plan
