// What must hold when the network, the API server or the operator itself fails: nothing is made
// twice, nothing is lost, and the job ends as if nothing had happened.

#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "operator/controller/controller_fixture.h"
#include "operator/k8s/watch/splitter.h"
#include "operator/k8s/watch/watch_event.h"
#include "operator/testing/faulty_transport.h"

namespace tensorfleet::controller {
namespace {

using tensorfleet::testing::FakeApiServer;
using tensorfleet::testing::Fault;
using tensorfleet::testing::FaultyTransport;

class Robustness : public ControllerTest {
 protected:
  void SetUp() override {
    ControllerTest::SetUp();
    if (IsSkipped()) return;
    since_ = Read(Pods())["metadata"]["resourceVersion"].get<std::string>();
  }

  // A job's whole life; the same end whatever goes wrong in between.
  void Live(const std::string& name) {
    Submit(name, {{"PS", 1}, {"Worker", 2}}, {{"runPolicy", {{"cleanPodPolicy", "Running"}}}});
    const std::vector<std::string> all = {name + "-ps-0", name + "-worker-0", name + "-worker-1"};
    ASSERT_TRUE(HasPods(all));
    ASSERT_TRUE(HasServices(all));
    for (const std::string& pod : all) SetPhase(pod, "Running");
    ASSERT_TRUE(Becomes(name, "Running"));
    SetPhase(name + "-worker-1", "Succeeded");
    SetPhase(name + "-worker-0", "Succeeded");
    ASSERT_TRUE(Becomes(name, "Succeeded"));
    if (fake() == nullptr) {
      // Without a kubelet a pod is gone at once.
      ASSERT_TRUE(HasPods({name + "-worker-0", name + "-worker-1"}));
      return;
    }
    ASSERT_TRUE(Eventually([&] {
      const Json ps = Read(Pods() + "/" + name + "-ps-0");
      return ps.is_object() && ps["metadata"].contains("deletionTimestamp");
    }));
    fake()->store().Finalize(tensorfleet::testing::kPods, ns(), name + "-ps-0");
  }

  // How many pods were ever made, by the server's own history.
  int PodsEverMade(const std::string& name) {
    int made = 0;
    if (fake() == nullptr) {
      k8s::LineSplitter lines;
      const auto count = [&](absl::string_view line) -> Status {
        TFLEET_ASSIGN_OR_RETURN(const k8s::WatchEvent event, k8s::SplitWatchEvent(line));
        EXPECT_NE(event.type, k8s::WatchEventType::kError) << line;
        if (event.type != k8s::WatchEventType::kAdded) return OkStatus();
        const Json pod = Json::parse(event.object.begin(), event.object.end());
        made += pod["metadata"]["name"].get<std::string>().rfind(name + "-", 0) == 0;
        return OkStatus();
      };
      const Status read = client().Read(
          absl::StrCat(Pods(), "?watch=true&timeoutSeconds=1&resourceVersion=", since_),
          std::chrono::seconds(20),
          [&](absl::string_view data) { return lines.Feed(data, count).ok(); }, nullptr);
      EXPECT_TRUE(read.ok()) << read;
      return made;
    }
    int64_t version = 0;
    const auto events = fake()->store().EventsAfter(
        tensorfleet::testing::kPods, ns(), tensorfleet::testing::LabelSelector(""), &version,
        http::After(std::chrono::milliseconds(1)));
    for (const Json& event : *events) {
      made += event["type"] == "ADDED" &&
              event["object"]["metadata"]["name"].get<std::string>().rfind(name + "-", 0) == 0;
    }
    return made;
  }

 private:
  std::string since_;  // the version of everything when the test began
};

TEST_F(Robustness, ServerErrorsAreRetried) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.method = "POST";
  fault.path_contains = "/pods";
  fault.times = 5;
  fake()->Inject(fault);
  Live("j");
  EXPECT_EQ(PodsEverMade("j"), 3);
}

// training-operator gave the pass up: later replicas were not tried and no status was written.
TEST_F(Robustness, APodThatCannotBeMadeHoldsUpNeitherTheOthersNorTheStatus) {
  FLEET_NEEDS_FAKE_SERVER();
  StopController();
  FaultyTransport without_chief(&transport(), [&](const k8s::Request& request, int64_t) {
    const bool chief = request.method == "POST" && absl::StartsWith(request.path, Pods() + "?") &&
                       request.body.find("\"j-chief-0\"") != std::string::npos;
    return chief ? FaultyTransport::When::kBefore : FaultyTransport::When::kPass;
  });
  Process process(&without_chief, Options());
  Submit("j", {{"Chief", 1}, {"PS", 1}, {"Worker", 2}});
  EXPECT_TRUE(HasPods({"j-ps-0", "j-worker-0", "j-worker-1"}));
  EXPECT_TRUE(HasServices({"j-chief-0", "j-ps-0", "j-worker-0", "j-worker-1"}));
  EXPECT_TRUE(Becomes("j", "Created"));
  EXPECT_TRUE(Eventually([&] {
    return Read(k8s::CollectionPath("v1", ns(), "events")).dump().find("FailedCreatePod") !=
           std::string::npos;
  }));
}

TEST_F(Robustness, ABusyServerIsGivenTime) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.code = 429;
  fault.reason = "TooManyRequests";
  fault.retry_after = "0";
  fault.path_contains = "/namespaces/";
  fault.times = 4;
  fake()->Inject(fault);
  Live("j");
  EXPECT_EQ(PodsEverMade("j"), 3);
}

TEST_F(Robustness, AnAnswerThatIsLostMakesNoSecondPod) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.kind = Fault::Kind::kLoseAnswer;
  fault.method = "POST";
  fault.path_contains = "/pods";
  fault.times = 3;
  fake()->Inject(fault);
  fault.path_contains = "/services";
  fake()->Inject(fault);
  Live("j");
  EXPECT_EQ(PodsEverMade("j"), 3);
}

TEST_F(Robustness, AStatusThatSomebodyElseChangedIsWrittenAgain) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.code = 409;
  fault.reason = "Conflict";
  fault.path_contains = "/tfjobs/j/status";
  fault.method = "PUT";
  fault.times = 2;
  fake()->Inject(fault);
  Live("j");
}

TEST_F(Robustness, LabelsAndAnnotationsOfTheUserSurviveStatusWrites) {
  Submit("j", {{"Worker", 1}});
  for (int i = 0; i < 10; ++i)
    Patch(Jobs() + "/j", {{"metadata", {{"labels", {{"n", absl::StrCat(i)}}}}}});
  ASSERT_TRUE(HasPods({"j-worker-0"}));
  SetPhase("j-worker-0", "Running");
  ASSERT_TRUE(Becomes("j", "Running"));
  EXPECT_EQ(ReadJob("j")["metadata"]["labels"]["n"], "9");
}

TEST_F(Robustness, WatchesThatDropLoseNothing) {
  FLEET_NEEDS_FAKE_SERVER();
  std::atomic<bool> stop{false};
  std::thread vandal([&] {
    while (!stop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(15));
      fake()->EndWatches();
    }
  });
  Live("j");
  stop = true;
  vandal.join();
  EXPECT_EQ(PodsEverMade("j"), 3);
}

TEST_F(Robustness, AHistoryThatIsForgottenLosesNothing) {
  FLEET_NEEDS_FAKE_SERVER();
  std::atomic<bool> stop{false};
  std::thread vandal([&] {
    while (!stop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      fake()->store().Compact();
    }
  });
  Live("j");
  stop = true;
  vandal.join();
}

TEST_F(Robustness, ASlowServerOnlyDelays) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.kind = Fault::Kind::kDelay;
  fault.delay = std::chrono::milliseconds(30);
  fault.method = "POST";
  fault.times = 20;
  fake()->Inject(fault);
  Live("j");
  EXPECT_EQ(PodsEverMade("j"), 3);
}

TEST_F(Robustness, ARestartedControllerMakesNothingTwice) {
  Submit("j", {{"PS", 1}, {"Worker", 2}});
  ASSERT_TRUE(HasPods({"j-ps-0", "j-worker-0", "j-worker-1"}));
  const Json before = Read(Pods());
  StopController();
  StartController();
  Settle(std::chrono::milliseconds(300));
  const Json after = Read(Pods());
  ASSERT_EQ(after["items"].size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(after["items"][i]["metadata"]["uid"], before["items"][i]["metadata"]["uid"]);
  }
}

TEST_F(Robustness, WhatHappenedWhileTheControllerWasAwayIsCaughtUpWith) {
  Submit("done", {{"Worker", 1}});
  Submit("gone", {{"Worker", 1}});
  ASSERT_TRUE(HasPods({"done-worker-0", "gone-worker-0"}));
  StopController();
  SetPhase("done-worker-0", "Succeeded");
  RemovePod("gone-worker-0");
  Submit("new", {{"Worker", 1}});
  StartController();
  EXPECT_TRUE(HasPods({"done-worker-0", "gone-worker-0", "new-worker-0"}));
  EXPECT_TRUE(Becomes("done", "Succeeded"));
}

TEST_F(Robustness, PodsMadeByTrainingOperatorAreAdopted) {
  // Its pods and services, with its labels, owner and names, and none of our annotations.
  StopController();
  const Json job = Submit("j", {{"PS", 1}, {"Worker", 1}});
  for (const char* type : {"ps", "worker"}) {
    const Json meta = {{"name", absl::StrCat("j-", type, "-0")},
                       {"labels",
                        {{"training.kubeflow.org/operator-name", "tfjob-controller"},
                         {"training.kubeflow.org/job-name", "j"},
                         {"training.kubeflow.org/replica-type", type},
                         {"training.kubeflow.org/replica-index", "0"}}},
                       {"ownerReferences", Json::array({{{"apiVersion", "kubeflow.org/v1"},
                                                         {"kind", "TFJob"},
                                                         {"name", "j"},
                                                         {"uid", job["metadata"]["uid"]},
                                                         {"controller", true},
                                                         {"blockOwnerDeletion", true}}})}};
    MustCreate(
        Pods(),
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata", meta},
         {"spec", {{"containers", Json::array({{{"name", "tensorflow"}, {"image", "i"}}})}}}});
    MustCreate(Services(),
               {{"apiVersion", "v1"},
                {"kind", "Service"},
                {"metadata", meta},
                {"spec", {{"clusterIP", "None"}, {"ports", Json::array({{{"port", 2222}}})}}}});
  }
  SetPhase("j-ps-0", "Running");
  SetPhase("j-worker-0", "Running");
  Patch(Jobs() + "/j/status",
        {{"status",
          {{"startTime", "2024-01-05T22:58:20Z"},
           {"conditions",
            Json::array({{{"type", "Created"}, {"status", "True"}, {"reason", "TFJobCreated"}},
                         {{"type", "Running"}, {"status", "True"}, {"reason", "TFJobRunning"}}})},
           {"replicaStatuses", {{"PS", {{"active", 1}}}, {"Worker", {{"active", 1}}}}}}}});
  const Json before = Read(Pods());
  StartController();
  Settle(std::chrono::milliseconds(400));
  EXPECT_EQ(Read(Pods())["items"], before["items"]);
  EXPECT_EQ(ReadJob("j")["status"]["startTime"], "2024-01-05T22:58:20Z");
  SetPhase("j-worker-0", "Succeeded");
  EXPECT_TRUE(Becomes("j", "Succeeded"));
}

TEST_F(Robustness, ANameHeldByAStrangerIsWaitedFor) {
  FLEET_NEEDS_FAKE_SERVER();
  MustCreate(Pods(), {{"metadata", {{"name", "j-worker-0"}}}});
  const std::string stranger = Read(Pods() + "/j-worker-0")["metadata"]["uid"];
  Submit("j", {{"Worker", 2}});
  ASSERT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
  EXPECT_TRUE(Becomes("j", "Created"));
  Settle();
  EXPECT_EQ(Read(Pods() + "/j-worker-0")["metadata"]["uid"], stranger);
  RemovePod("j-worker-0");
  EXPECT_TRUE(Eventually([&] {
    const Json now = Read(Pods() + "/j-worker-0");
    return now.is_object() && now["metadata"]["uid"] != stranger;
  }));
}

TEST_F(Robustness, AJobMadeAnewUnderItsOldNameGetsPodsOfItsOwn) {
  Submit("j", {{"Worker", 2}});
  ASSERT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
  ASSERT_TRUE(client().Delete(Jobs() + "/j").ok());
  const Json again = Submit("j", {{"Worker", 2}});
  EXPECT_TRUE(Eventually([&] {
    const Json pods = Read(Pods());
    if (pods["items"].size() != 2) return false;
    for (const Json& pod : pods["items"]) {
      if (pod["metadata"]["ownerReferences"][0]["uid"] != again["metadata"]["uid"]) return false;
    }
    return true;
  }));
}

// Killed after its n-th write, whatever that was: neither the request under way nor the answer to
// it can be relied on. A second process takes over.
class KilledAnywhere : public Robustness, public ::testing::WithParamInterface<int> {};

TEST_P(KilledAnywhere, TheJobEndsAsIfNothingHadHappened) {
  StopController();
  std::mt19937 random(GetParam());
  const int kill_at = GetParam();
  for (const bool answer_lost : {false, true}) {
    const std::string name = answer_lost ? "lost" : "never";
    std::atomic<int> writes{0};
    FaultyTransport dying(&transport(), [&](const k8s::Request& request, int64_t) {
      if (request.method == "GET") return FaultyTransport::When::kPass;
      const int n = writes++;
      if (n < kill_at) return FaultyTransport::When::kPass;
      return n == kill_at && answer_lost ? FaultyTransport::When::kAfter
                                         : FaultyTransport::When::kBefore;
    });
    auto first = std::make_unique<Process>(&dying, Options());
    std::thread life([&] { Live(name); });
    // Killed once the fault has struck, or the job got through before that many writes.
    Eventually([&] { return writes > kill_at || ConditionStatus(name, "Succeeded") == "True"; });
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    first.reset();
    StartController();
    life.join();
    EXPECT_TRUE(HasPods({name + "-worker-0", name + "-worker-1"}));
    EXPECT_EQ(PodsEverMade(name), 3);
    EXPECT_NE(ConditionStatus(name, "Failed"), "True");
    StopController();
    ASSERT_TRUE(client().Delete(Jobs() + "/" + name).ok());
    // Where no garbage collector runs the pods are still there.
    for (const std::string& pod : NamesIn(Pods())) RemovePod(pod);
    ASSERT_TRUE(HasPods({}));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryWrite, KilledAnywhere, ::testing::Range(0, 20));

}  // namespace
}  // namespace tensorfleet::controller
