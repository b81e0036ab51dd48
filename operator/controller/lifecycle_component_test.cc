// The life of a TFJob, as its user sees it through the API server.

#include "operator/controller/controller_fixture.h"

namespace tensorfleet::controller {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Lifecycle = ControllerTest;

TEST_F(Lifecycle, APodAndAServiceForEachReplica) {
  Submit("j", {{"PS", 1}, {"Worker", 2}});
  EXPECT_TRUE(HasPods({"j-ps-0", "j-worker-0", "j-worker-1"}));
  EXPECT_TRUE(HasServices({"j-ps-0", "j-worker-0", "j-worker-1"}));
  EXPECT_TRUE(Becomes("j", "Created"));
  const Json pod = Read(Pods() + "/j-worker-1");
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["uid"], ReadJob("j")["metadata"]["uid"]);
  EXPECT_THAT(pod["spec"]["containers"][0]["env"].back()["value"].get<std::string>(),
              HasSubstr("j-ps-0." + ns()));
}

TEST_F(Lifecycle, RunsAndSucceeds) {
  Submit("j", {{"Worker", 2}});
  ASSERT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
  SetPhase("j-worker-0", "Running");
  SetPhase("j-worker-1", "Running");
  ASSERT_TRUE(Becomes("j", "Running"));
  EXPECT_TRUE(Eventually(
      [&] { return ReadJob("j")["status"]["replicaStatuses"]["Worker"]["active"] == 2; }));
  SetPhase("j-worker-1", "Succeeded");
  SetPhase("j-worker-0", "Succeeded");
  ASSERT_TRUE(Becomes("j", "Succeeded"));
  EXPECT_EQ(ConditionStatus("j", "Running"), "False");
  EXPECT_TRUE(Eventually([&] {
    return ReadJob("j")["status"]["replicaStatuses"]["Worker"].value("active", 0) == 0;
  })) << ReadJob("j")["status"].dump(1);
  EXPECT_TRUE(ReadJob("j")["status"].contains("completionTime"));
}

TEST_F(Lifecycle, CostsNoMoreRequestsThanItMust) {
  FLEET_NEEDS_FAKE_SERVER();
  const std::vector<std::string> all = {"j-worker-0", "j-worker-1", "j-worker-2", "j-worker-3",
                                        "j-worker-4"};
  Submit("j", {{"Worker", 5}});
  ASSERT_TRUE(HasPods(all));
  ASSERT_TRUE(HasServices(all));
  ASSERT_TRUE(Becomes("j", "Created"));
  Settle();
  const auto calls = [&] {
    int count = -1;  // the submission
    for (const auto& request : fake()->requests()) {
      // The test's own requests are GETs, and patches of pods' status.
      const bool ours = request.method != "GET" &&
                        request.target.find("/events") == std::string::npos &&
                        request.target.find("/status") == std::string::npos;
      count += ours || (request.method == "PUT" && request.target == Jobs() + "/j/status");
    }
    return count;
  };
  EXPECT_EQ(calls(), 11) << "five pods, five services, one status";
  for (const std::string& pod : all) SetPhase(pod, "Running");
  ASSERT_TRUE(Becomes("j", "Running"));
  Settle();
  SetPhase("j-worker-0", "Succeeded");
  ASSERT_TRUE(Becomes("j", "Succeeded"));
  EXPECT_EQ(calls(), 13);
}

TEST_F(Lifecycle, AFailedPodFailsAJobThatNeverRestarts) {
  Submit("j", {{"Worker", 2}});
  ASSERT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
  SetPhase("j-worker-1", "Failed", 1);
  ASSERT_TRUE(Becomes("j", "Failed"));
  EXPECT_NE(ConditionStatus("j", "Succeeded"), "True");
}

TEST_F(Lifecycle, ARetryableExitCodeReplacesThePod) {
  Submit("j", {{"Worker", 1}, {"PS", 1}},
         {{"tfReplicaSpecs", {{"Worker", {{"restartPolicy", "ExitCode"}}}}}});
  ASSERT_TRUE(HasPods({"j-ps-0", "j-worker-0"}));
  const Json first = Read(Pods() + "/j-worker-0");
  SetPhase("j-worker-0", "Failed", 137);
  EXPECT_TRUE(Eventually([&] {
    const Json now = Read(Pods() + "/j-worker-0");
    return now.is_object() && now["metadata"]["uid"] != first["metadata"]["uid"];
  }));
  EXPECT_TRUE(Becomes("j", "Restarting"));
  SetPhase("j-worker-0", "Running");
  EXPECT_TRUE(Becomes("j", "Running"));
  EXPECT_EQ(ConditionStatus("j", "Failed"), "");
}

TEST_F(Lifecycle, APermanentExitCodeFailsTheJob) {
  Submit("j", {{"Worker", 1}, {"PS", 1}},
         {{"tfReplicaSpecs", {{"Worker", {{"restartPolicy", "ExitCode"}}}}}});
  ASSERT_TRUE(HasPods({"j-ps-0", "j-worker-0"}));
  SetPhase("j-worker-0", "Failed", 1);
  EXPECT_TRUE(Becomes("j", "Failed"));
}

TEST_F(Lifecycle, APodDeletedByHandIsMadeAgain) {
  Submit("j", {{"Worker", 2}},
         {{"tfReplicaSpecs", {{"Worker", {{"restartPolicy", "OnFailure"}}}}}});
  ASSERT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
  const Json first = Read(Pods() + "/j-worker-1");
  RemovePod("j-worker-1");
  EXPECT_TRUE(Eventually([&] {
    const Json now = Read(Pods() + "/j-worker-1");
    return now.is_object() && now["metadata"]["uid"] != first["metadata"]["uid"];
  }));
}

TEST_F(Lifecycle, CleanPodPolicyRunningLeavesFinishedPods) {
  Submit("j", {{"PS", 1}, {"Worker", 1}}, {{"runPolicy", {{"cleanPodPolicy", "Running"}}}});
  ASSERT_TRUE(HasPods({"j-ps-0", "j-worker-0"}));
  SetPhase("j-worker-0", "Succeeded");
  EXPECT_TRUE(HasPods({"j-worker-0"}));
  EXPECT_EQ(ConditionStatus("j", "Succeeded"), "True");
}

TEST_F(Lifecycle, CleanPodPolicyAllLeavesNothing) {
  Submit("j", {{"Worker", 2}}, {{"runPolicy", {{"cleanPodPolicy", "All"}}}});
  ASSERT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
  SetPhase("j-worker-0", "Succeeded");
  EXPECT_TRUE(HasPods({}));
  EXPECT_TRUE(HasServices({}));
}

TEST_F(Lifecycle, AFinishedJobGoesWhenItsTimeToLiveIsOver) {
  Submit("j", {{"Worker", 1}}, {{"runPolicy", {{"ttlSecondsAfterFinished", 1}}}});
  ASSERT_TRUE(HasPods({"j-worker-0"}));
  SetPhase("j-worker-0", "Succeeded");
  EXPECT_TRUE(Eventually([&] { return ReadJob("j").is_null(); }));
}

TEST_F(Lifecycle, TheDeadlineNeedsNoOtherEvent) {
  Submit("j", {{"Worker", 1}}, {{"runPolicy", {{"activeDeadlineSeconds", 1}}}});
  ASSERT_TRUE(HasPods({"j-worker-0"}));
  EXPECT_TRUE(Becomes("j", "Failed"));
}

TEST_F(Lifecycle, SuspendsAndResumes) {
  Submit("j", {{"Worker", 2}});
  ASSERT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
  Patch(Jobs() + "/j", {{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  EXPECT_TRUE(HasPods({}));
  EXPECT_TRUE(Becomes("j", "Suspended"));
  Patch(Jobs() + "/j", {{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  EXPECT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
  EXPECT_TRUE(Becomes("j", "Suspended", "False"));
}

TEST_F(Lifecycle, ASuspendedJobGetsNoPods) {
  Submit("j", {{"Worker", 2}}, {{"runPolicy", {{"suspend", true}}}});
  EXPECT_TRUE(Becomes("j", "Suspended"));
  EXPECT_THAT(NamesIn(Pods()), IsEmpty());
}

TEST_F(Lifecycle, AnothersJobIsLeftAlone) {
  Submit("theirs", {{"Worker", 1}}, {{"runPolicy", {{"managedBy", "kueue.x-k8s.io/multikueue"}}}});
  Submit("ours", {{"Worker", 1}});
  ASSERT_TRUE(HasPods({"ours-worker-0"}));
  Settle();
  EXPECT_FALSE(ReadJob("theirs").contains("status"));
}

TEST_F(Lifecycle, ABadSpecFailsAndSaysWhere) {
  FLEET_NEEDS_FAKE_SERVER();  // a real one refuses it by its schema
  Json job = Job("j", {{"Worker", 1}});
  job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"] = "wrong";
  MustCreate(Jobs(), job);
  ASSERT_TRUE(Becomes("j", "Failed"));
  EXPECT_THAT(ReadJob("j")["status"]["conditions"].dump(),
              HasSubstr("spec.tfReplicaSpecs[Worker]"));
  EXPECT_THAT(NamesIn(Pods()), IsEmpty());
}

TEST_F(Lifecycle, NonsenseInEveryFieldDoesNoHarm) {
  FLEET_NEEDS_FAKE_SERVER();
  MustCreate(Jobs(), {{"metadata", {{"name", "a"}}}, {"spec", "text"}});
  MustCreate(Jobs(), {{"metadata", {{"name", "b"}, {"annotations", 7}}},
                      {"spec", {{"tfReplicaSpecs", Json::array()}}}});
  MustCreate(Jobs(),
             {{"metadata", {{"name", "c"}}},
              {"spec", {{"tfReplicaSpecs", {{"Worker", {{"replicas", "x"}, {"template", 1}}}}}}}});
  Submit("good", {{"Worker", 1}});
  EXPECT_TRUE(HasPods({"good-worker-0"}));
  for (const char* bad : {"a", "b", "c"}) EXPECT_TRUE(Becomes(bad, "Failed"));
}

TEST_F(Lifecycle, EventsTellOfPodsAndServices) {
  Submit("j", {{"Worker", 1}});
  ASSERT_TRUE(HasPods({"j-worker-0"}));
  const auto messages = [&] {
    std::vector<std::string> all;
    const Json list = Read(k8s::CollectionPath("v1", ns(), "events"));
    for (const Json& event : list["items"]) {
      if (event["involvedObject"]["kind"] == "TFJob") all.push_back(event["message"]);
    }
    return all;
  };
  EXPECT_TRUE(Eventually([&] { return messages().size() >= 2; }));
  EXPECT_THAT(messages(), Contains("Created pod: j-worker-0"));
  EXPECT_THAT(messages(), Contains("Created service: j-worker-0"));
}

TEST_F(Lifecycle, WorkersAreAddedAndTakenAwayWhileTheJobRuns) {
  Submit("j", {{"PS", 1}, {"Worker", 1}}, {{"enableDynamicWorker", true}});
  ASSERT_TRUE(HasPods({"j-ps-0", "j-worker-0"}));
  Patch(Jobs() + "/j", {{"spec", {{"tfReplicaSpecs", {{"Worker", {{"replicas", 3}}}}}}}});
  EXPECT_TRUE(HasPods({"j-ps-0", "j-worker-0", "j-worker-1", "j-worker-2"}));
  Patch(Jobs() + "/j", {{"spec", {{"tfReplicaSpecs", {{"Worker", {{"replicas", 2}}}}}}}});
  EXPECT_TRUE(HasPods({"j-ps-0", "j-worker-0", "j-worker-1"}));
  EXPECT_TRUE(HasServices({"j-ps-0", "j-worker-0", "j-worker-1"}));
  EXPECT_NE(ConditionStatus("j", "Failed"), "True");
}

TEST_F(Lifecycle, ARunningPodThatIsDeletedIsReplacedOnceItIsGone) {
  FLEET_NEEDS_FAKE_SERVER();  // without a kubelet nothing ends a pod's grace period
  Submit("j", {{"Worker", 1}},
         {{"tfReplicaSpecs", {{"Worker", {{"restartPolicy", "OnFailure"}}}}}});
  ASSERT_TRUE(HasPods({"j-worker-0"}));
  SetPhase("j-worker-0", "Running");
  ASSERT_TRUE(Becomes("j", "Running"));
  const std::string uid = Read(Pods() + "/j-worker-0")["metadata"]["uid"];
  ASSERT_TRUE(client().Delete(Pods() + "/j-worker-0").ok());
  Settle();
  EXPECT_EQ(Read(Pods() + "/j-worker-0")["metadata"]["uid"], uid);
  fake()->store().Finalize(tensorfleet::testing::kPods, ns(), "j-worker-0");
  EXPECT_TRUE(Eventually([&] {
    const Json now = Read(Pods() + "/j-worker-0");
    return now.is_object() && now["metadata"]["uid"] != uid;
  }));
  EXPECT_NE(ConditionStatus("j", "Failed"), "True");
}

TEST_F(Lifecycle, ReadOnlyNamespacesOfOthersAreNotTouched) {
  FLEET_NEEDS_FAKE_SERVER();
  Json job = Job("elsewhere", {{"Worker", 1}});
  MustCreate(k8s::CollectionPath("kubeflow.org/v1", "other", "tfjobs"), job);
  Submit("here", {{"Worker", 1}});
  ASSERT_TRUE(HasPods({"here-worker-0"}));
  Settle();
  EXPECT_THAT(NamesIn(k8s::CollectionPath("v1", "other", "pods")), IsEmpty());
}

}  // namespace
}  // namespace tensorfleet::controller
