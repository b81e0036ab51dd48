// Whatever a pass decides, once it is carried out there is nothing left to do: no second creation,
// no status written again, no event repeated. Tried on many snapshots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using testing::Apply;
using testing::Attempt;
using testing::Evicted;
using testing::Failed;
using ::testing::IsEmpty;
using testing::OnlySidecarsRun;
using testing::Orphaned;
using testing::OwnedBy;
using testing::Pending;
using testing::Running;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::Terminating;
using testing::TFJob;

struct Spec {
  const char* name;
  TFJob job;
};

std::vector<Spec> Specs() {
  return {
      {"OneWorker", TFJob("j").Workers(1)},
      {"PsAndWorkers", TFJob("j").Ps(1).Workers(3)},
      {"Chief", TFJob("j").Chief().Ps(2).Workers(2).Evaluator()},
      {"Master", TFJob("j").Master().Workers(2)},
      {"AllWorkers", TFJob("j").Workers(3).SuccessPolicy("AllWorkers")},
      {"ExitCode", TFJob("j").Ps(1).Workers(3).RestartPolicy("ExitCode")},
      {"OnFailure", TFJob("j").Ps(1).Workers(3).RestartPolicy("OnFailure")},
      {"Always", TFJob("j").Workers(3).RestartPolicy("Always")},
      {"Backoff", TFJob("j").Workers(3).RestartPolicy("ExitCode").RunPolicy("backoffLimit", "1")},
      {"JobScope",
       TFJob("j").Ps(1).Workers(3).RestartPolicy("ExitCode").With("/spec/restartScope", "\"Job\"")},
      {"Dynamic", TFJob("j").Ps(1).Workers(3).DynamicWorkers()},
      {"BearsOne", TFJob("j").Workers(3).With("/spec/failurePolicy/maxFailedWorkers", "1")},
      {"PsFirst", TFJob("j").Ps(1).Workers(2).With("/spec/startOrder", "\"PSFirst\"")},
      {"CleansAll", TFJob("j").Ps(1).Workers(3).RunPolicy("cleanPodPolicy", "\"All\"")},
      {"CleansRunning", TFJob("j").Ps(1).Workers(3).RunPolicy("cleanPodPolicy", "\"Running\"")},
      {"Suspended", TFJob("j").Ps(1).Workers(3).Suspended()},
      {"Container", TFJob("j").Workers(3).With("/spec/replicaCompletion", "\"Container\"")},
      {"Waits", TFJob("j").Workers(3).With("/spec/failurePolicy/pendingTimeoutSeconds", "0")},
      {"Empty", TFJob("j").Workers(0)},
      {"OnlyPs", TFJob("j").Ps(3)},
      {"Invalid", TFJob("j").Workers(-3)},
  };
}

struct Start {
  const char* name;
  TFJob (*with)(TFJob);
};

const Start kStarts[] = {
    {"New", [](TFJob job) { return job; }},
    {"Started", [](TFJob job) { return job.Started(); }},
    {"Running", [](TFJob job) { return job.Running(); }},
    {"Restarting", [](TFJob job) { return job.Started().Condition("Restarting"); }},
    {"Resuming", [](TFJob job) { return job.Started().Condition("Suspended"); }},
    {"Succeeded", [](TFJob job) { return job.Succeeded(); }},
    {"Failed", [](TFJob job) { return job.Failed(); }},
};

struct Scene {
  const char* name;
  void (*add)(SnapshotOf&);
};

const Scene kScenes[] = {
    {"Nothing", [](SnapshotOf&) {}},
    {"AllPending", [](SnapshotOf& now) { now.WithAllPods(Pending()).WithAllServices(); }},
    {"AllRunning", [](SnapshotOf& now) { now.WithAllPods(Running()).WithAllServices(); }},
    {"AllSucceeded", [](SnapshotOf& now) { now.WithAllPods(Succeeded()).WithAllServices(); }},
    {"AllFailed", [](SnapshotOf& now) { now.WithAllPods(Failed(1)).WithAllServices(); }},
    {"AllKilled", [](SnapshotOf& now) { now.WithAllPods(Failed(137)).WithAllServices(); }},
    {"AllEvicted", [](SnapshotOf& now) { now.WithAllPods(Evicted()).WithAllServices(); }},
    {"AllGoing", [](SnapshotOf& now) { now.WithAllPods(Running(), Terminating()); }},
    {"AllForeign", [](SnapshotOf& now) { now.WithAllPods(Running(), OwnedBy("other")); }},
    {"AllOrphaned", [](SnapshotOf& now) { now.WithAllPods(Running(), Orphaned()); }},
    {"OneLeft", [](SnapshotOf& now) { now.WithPod("j-worker-0", Running()); }},
    {"OneDone", [](SnapshotOf& now) { now.WithPod("j-worker-1", Succeeded()); }},
    {"OneTooMany",
     [](SnapshotOf& now) { now.WithAllPods(Running()).WithPod("j-worker-7", Running()); }},
    {"OneKilled",
     [](SnapshotOf& now) {
       now.WithPod("j-worker-0", Running()).WithPod("j-worker-1", Failed(137));
     }},
    {"OneOfAnotherAttempt",
     [](SnapshotOf& now) { now.WithPod("j-worker-0", Failed(137), Attempt(3)); }},
    {"OnlySidecars",
     [](SnapshotOf& now) { now.WithAllPods(OnlySidecarsRun(0)).WithAllServices(); }},
    {"OnlyServices", [](SnapshotOf& now) { now.WithAllServices(); }},
    {"OrphanedServices", [](SnapshotOf& now) { now.WithService("j-worker-0", Orphaned()); }},
};

// Steps until nothing changes any more; the number of passes that took, or -1 when it never ends.
int PassesUntilSettled(Snapshot now, const Options& options) {
  for (int pass = 0; pass < 8; ++pass) {
    const Plan plan = Reconcile(now, options);
    if (plan.actions.empty() && plan.status_write == StatusWrite::kNone) return pass;
    now = Apply(plan, now);
    // The scheduler has seen the group.
    if (now.pod_group != nullptr && now.pod_group->phase.empty()) {
      api::PodGroup group = *now.pod_group;
      group.phase = "Inqueue";
      now.pod_group = std::make_shared<const api::PodGroup>(std::move(group));
    }
  }
  return -1;
}

class Settled : public ::testing::TestWithParam<Spec> {};

TEST_P(Settled, HasNothingLeftToDoOnceApplied) {
  for (const Start& start : kStarts) {
    for (const Scene& scene : kScenes) {
      for (const char* scheduler : {"", "volcano", "plugins"}) {
        Options options;
        options.gang_scheduler_name = scheduler;
        SnapshotOf now(start.with(GetParam().job));
        scene.add(now);
        now.At(5);
        const int passes = PassesUntilSettled(now.Build(), options);
        EXPECT_TRUE(passes >= 0 && passes <= 6) << GetParam().name << " " << start.name << " "
                                                << scene.name << " " << scheduler << ": " << passes;
      }
    }
  }
}

// The same snapshot gives the same plan: nothing in it depends on anything else.
TEST_P(Settled, IsDeterministic) {
  for (const Scene& scene : kScenes) {
    SnapshotOf now(GetParam().job);
    scene.add(now);
    const Plan a = Reconcile(now);
    const Plan b = Reconcile(now);
    ASSERT_EQ(a.actions.size(), b.actions.size());
    for (size_t i = 0; i < a.actions.size(); ++i) {
      EXPECT_EQ(a.actions[i].name, b.actions[i].name);
      EXPECT_EQ(a.actions[i].body, b.actions[i].body);
    }
    EXPECT_EQ(a.status, b.status);
    EXPECT_EQ(a.events, b.events);
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, Settled, ::testing::ValuesIn(Specs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tensorfleet::plan
