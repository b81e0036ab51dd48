// Carrying out single actions, with caches that no watch keeps up to date: what another reconcile,
// or another operator, finds there afterwards.
#include <gmock/gmock.h>

#include "operator/controller/apply.h"
#include "operator/controller/controller_fixture.h"

namespace tensorfleet::controller {
namespace {

using plan::Action;
using plan::ActionKind;

class ApplierTest : public ControllerTest {
 protected:
  void SetUp() override {
    ControllerTest::SetUp();
    if (IsSkipped()) return;
    StopController();
    Submit("j", {{"Worker", 1}}, {{"runPolicy", {{"suspend", true}}}});
    job_ = *informers_.jobs().Assume(client().Get(Jobs() + "/j").value());
    pod_ = MustCreate(
        Pods(),
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata", {{"name", "j-worker-0"}}},
         {"spec", {{"containers", Json::array({{{"name", "tensorflow"}, {"image", "i"}}})}}}});
    SetPhase("j-worker-0", "Running");
    See();
  }

  // The cache takes notice of the pod as it is.
  void See() { seen_ = *informers_.pods().Assume(client().Get(Pods() + "/j-worker-0").value()); }
  Action DeletePod(bool as_seen) const {
    return {ActionKind::kDeletePod, seen_->meta.name,
            seen_->meta.uid,        "",
            /*force=*/true,         as_seen ? seen_->meta.resource_version : ""};
  }
  Status Apply(const Action& action) { return applier_.Apply(*job_, action); }
  std::shared_ptr<const api::Pod> Cached() { return informers_.pods().Find(ns(), "j-worker-0"); }

  Informers informers_{&client(), {}, [](absl::string_view, absl::string_view, Informers::News) {}};
  Applier applier_{&client(), &informers_, ""};
  std::shared_ptr<const api::TFJob> job_;
  Json pod_;
  std::shared_ptr<const api::Pod> seen_;
};

TEST_F(ApplierTest, DeletesAPodThatIsAsItWasSeen) {
  EXPECT_TRUE(Apply(DeletePod(/*as_seen=*/true)).ok());
  EXPECT_TRUE(Read(Pods() + "/j-worker-0").is_null());
  EXPECT_EQ(Cached(), nullptr);
}

TEST_F(ApplierTest, LeavesAPodThatHasChangedSinceAndLooksAtItAgain) {
  SetPhase("j-worker-0", "Succeeded");
  const Status status = Apply(DeletePod(/*as_seen=*/true));
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_TRUE(k8s::IsConflict(status)) << status;
  EXPECT_TRUE(Read(Pods() + "/j-worker-0").is_object());
  ASSERT_NE(Cached(), nullptr);
  EXPECT_EQ(Cached()->phase, api::PodPhase::kSucceeded);
}

TEST_F(ApplierTest, DeletesAPodInWhateverStateWhereThatDoesNotMatter) {
  SetPhase("j-worker-0", "Succeeded");
  EXPECT_TRUE(Apply(DeletePod(/*as_seen=*/false)).ok());
  EXPECT_TRUE(Read(Pods() + "/j-worker-0").is_null());
}

TEST_F(ApplierTest, APodThatIsGoneIsDone) {
  RemovePod("j-worker-0");
  ASSERT_TRUE(Eventually([&] { return Read(Pods() + "/j-worker-0").is_null(); }));
  EXPECT_TRUE(Apply(DeletePod(/*as_seen=*/true)).ok());
  EXPECT_EQ(Cached(), nullptr);
}

TEST_F(ApplierTest, APodOfThatNameMadeSinceIsLeftAlone) {
  RemovePod("j-worker-0");
  ASSERT_TRUE(Eventually([&] { return Read(Pods() + "/j-worker-0").is_null(); }));
  pod_["metadata"] = {{"name", "j-worker-0"}};
  pod_.erase("status");
  pod_["spec"] = {{"containers", Json::array({{{"name", "tensorflow"}, {"image", "i"}}})}};
  const Json again = MustCreate(Pods(), pod_);
  EXPECT_TRUE(Apply(DeletePod(/*as_seen=*/true)).ok());
  ASSERT_NE(Cached(), nullptr);
  EXPECT_EQ(Cached()->meta.uid, again["metadata"]["uid"]);
  EXPECT_EQ(Read(Pods() + "/j-worker-0")["metadata"]["uid"], again["metadata"]["uid"]);
}

Action DeleteJob(const api::TFJob& job) {
  return {ActionKind::kDeleteJob, job.name, job.uid, "", false, job.resource_version};
}

// Otherwise the next pass would delete it once more, and count it twice.
TEST_F(ApplierTest, AJobThatIsDeletedIsSeenNoMore) {
  EXPECT_TRUE(Apply(DeleteJob(*job_)).ok());
  EXPECT_TRUE(ReadJob("j").is_null());
  EXPECT_EQ(informers_.jobs().Find(ns(), "j"), nullptr);
}

TEST_F(ApplierTest, AJobThatWasGivenMoreTimeStays) {
  Patch(Jobs() + "/j", {{"spec", {{"runPolicy", {{"ttlSecondsAfterFinished", 3600}}}}}});
  EXPECT_TRUE(k8s::IsConflict(Apply(DeleteJob(*job_))));
  EXPECT_TRUE(ReadJob("j").is_object());
  EXPECT_EQ(informers_.jobs().Find(ns(), "j")->spec.run_policy.ttl_seconds_after_finished, 3600);
}

}  // namespace
}  // namespace tensorfleet::controller
