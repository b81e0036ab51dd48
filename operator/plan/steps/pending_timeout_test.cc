// failurePolicy.pendingTimeoutSeconds: pods that never start.
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MadeAt;
using testing::Pending;
using testing::PodsDeleted;
using testing::Running;
using testing::SnapshotOf;
using testing::Succeeded;
using testing::Terminating;
using testing::TFJob;
using testing::Waiting;

TFJob Job() {
  return TFJob("j").Workers(2).Running().With("/spec/failurePolicy/pendingTimeoutSeconds", "60");
}

SnapshotOf OneWaits() {
  return SnapshotOf(Job())
      .WithPod("j-worker-0", Running(), MadeAt(10))
      .WithPod("j-worker-1", Pending(), MadeAt(10))
      .WithAllServices();
}

TEST(PendingTimeout, IsKeptToTheSecondWithoutAnotherEvent) {
  const Plan early = Reconcile(OneWaits().At(69.9));
  EXPECT_FALSE(early.status.IsTrue("Failed"));
  EXPECT_EQ(early.requeue_at, After(70));
  const Plan due = Reconcile(OneWaits().At(70));
  EXPECT_EQ(ConditionsOf(due.status), "Created,Running(False),Failed");
  EXPECT_EQ(due.counters.failed, 1);
  EXPECT_THAT(EventReasons(due), ElementsAre("TFJobFailed"));
}

TEST(PendingTimeout, SaysWhichPodAndWhy) {
  const Plan plan =
      Reconcile(SnapshotOf(Job())
                    .WithPod("j-worker-0", Running())
                    .WithPod("j-worker-1", Waiting("ImagePullBackOff", "no such image"), MadeAt(0))
                    .At(60));
  const std::string& message = plan.status.conditions.back().message;
  EXPECT_THAT(message, HasSubstr("j-worker-1, which was pending for longer than "
                                 "pendingTimeoutSeconds (60): ImagePullBackOff: "));
  EXPECT_THAT(message, HasSubstr("no such image"));
}

TEST(PendingTimeout, ReleasesWhatTheOthersHold) {
  const Snapshot before = OneWaits().At(70);
  const Plan second = Reconcile(Apply(Reconcile(before), before));
  EXPECT_THAT(PodsDeleted(second), ElementsAre("j-worker-0", "j-worker-1"));
}

TEST(PendingTimeout, CountsFromTheReplacementOfALostPod) {
  const Plan plan = Reconcile(SnapshotOf(Job())
                                  .WithPod("j-worker-0", Running(), MadeAt(0))
                                  .WithPod("j-worker-1", Pending(), MadeAt(900))
                                  .WithAllServices()
                                  .At(930));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
  EXPECT_EQ(plan.requeue_at, After(960));
}

TEST(PendingTimeout, IsNotForPodsThatRanEndedOrAreGoing) {
  const Plan plan = Reconcile(SnapshotOf(Job().SuccessPolicy("AllWorkers"))
                                  .WithPod("j-worker-0", Succeeded(), MadeAt(0))
                                  .WithPod("j-worker-1", Pending(), MadeAt(0), Terminating())
                                  .WithAllServices()
                                  .At(999));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
}

TEST(PendingTimeout, IsOffUnlessAsked) {
  const Plan plan = Reconcile(SnapshotOf(TFJob("j").Workers(1).Running())
                                  .WithAllPods(Pending(), MadeAt(0))
                                  .WithAllServices()
                                  .At(1e6));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
  EXPECT_FALSE(plan.requeue_at);
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST(PendingTimeout, OfAPodOfUnknownAgeIsNeverOver) {
  const Plan plan = Reconcile(SnapshotOf(Job()).WithAllPods(Pending()).WithAllServices().At(1e6));
  EXPECT_FALSE(plan.status.IsTrue("Failed"));
  EXPECT_FALSE(plan.requeue_at);
}

}  // namespace
}  // namespace tensorfleet::plan
