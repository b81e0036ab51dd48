// What other people's clusters do to a controller: pods without owners, labels that are edited, an
// API server that refuses, warns or is silent.
#include "operator/controller/controller_fixture.h"

namespace tensorfleet::controller {
namespace {

using tensorfleet::testing::Fault;

class Edges : public ControllerTest {};

TEST_F(Edges, APodWithoutAnOwnerIsAdopted) {
  StopController();
  const Json job = Submit("j", {{"Worker", 1}});
  MustCreate(Pods(),
             {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata",
               {{"name", "j-worker-0"},
                {"labels",
                 {{"training.kubeflow.org/operator-name", "tfjob-controller"},
                  {"training.kubeflow.org/job-name", "j"},
                  {"training.kubeflow.org/replica-type", "worker"},
                  {"training.kubeflow.org/replica-index", "0"}}}}},
              {"spec", {{"containers", Json::array({{{"name", "tensorflow"}, {"image", "i"}}})}}}});
  const Json before = Read(Pods() + "/j-worker-0");
  StartController();
  EXPECT_TRUE(Eventually(
      [&] { return Read(Pods() + "/j-worker-0")["metadata"].contains("ownerReferences"); }));
  const Json after = Read(Pods() + "/j-worker-0");
  EXPECT_EQ(after["metadata"]["uid"], before["metadata"]["uid"]);
  EXPECT_EQ(after["metadata"]["ownerReferences"][0]["uid"], job["metadata"]["uid"]);
}

// It was asked for, found there, asked for, found there, fifty times a second.
TEST_F(Edges, LabelsThatSomebodyEditsArePutBackWithoutSpinning) {
  FLEET_NEEDS_FAKE_SERVER();
  Submit("j", {{"Worker", 2}});
  ASSERT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
  SetPhase("j-worker-0", "Running");
  ASSERT_TRUE(Becomes("j", "Running"));
  const Json labels = Read(Pods() + "/j-worker-0")["metadata"]["labels"];
  for (const auto& [label, value] : std::map<std::string, Json>{{"operator-name", "other"},
                                                                {"job-name", "other"},
                                                                {"replica-type", nullptr},
                                                                {"replica-index", "1"}}) {
    fake()->ClearRequests();
    Json patch;
    patch["metadata"]["labels"]["training.kubeflow.org/" + label] = value;
    Patch(Pods() + "/j-worker-0", patch);
    EXPECT_TRUE(Eventually([&] {
      return Read(Pods() + "/j-worker-0")["metadata"]["labels"] == labels;
    })) << label
        << " is " << Read(Pods() + "/j-worker-0")["metadata"]["labels"];
    Settle(std::chrono::milliseconds(300));
    EXPECT_LE(fake()->CountRequests("POST", "/pods"), 2) << label;
    EXPECT_LE(fake()->CountRequests("PATCH", "/pods"), 4) << label;
  }
  ASSERT_TRUE(HasPods({"j-worker-0", "j-worker-1"}));
}

// The pause between attempts grows to many minutes; the job's deadline is not put off by that.
TEST_F(Edges, ADeadlineHoldsWhileActionsFail) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault refuse;
  refuse.code = 403;
  refuse.reason = "Forbidden";
  refuse.method = "POST";
  refuse.path_contains = "/pods";
  refuse.times = 100000;
  fake()->Inject(refuse);
  Submit("j", {{"Worker", 1}}, {{"runPolicy", {{"activeDeadlineSeconds", 6}}}});
  ASSERT_TRUE(Becomes("j", "Created"));
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(Becomes("j", "Failed"));
  // The attempt after the eleventh failure comes after ten seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9));
}

// A field of a template that the API server does not know would be left out of the pod.
TEST_F(Edges, PodsAreMadeStrictlyAndWarningsAreTold) {
  FLEET_NEEDS_FAKE_SERVER();
  fake()->WarnOfCreations(R"(env[1]: hides \"A\")");
  Submit("j", {{"Worker", 1}});
  ASSERT_TRUE(HasPods({"j-worker-0"}));
  EXPECT_EQ(fake()->CountRequests("POST", "/pods?fieldValidation=Strict"), 1);
  EXPECT_TRUE(Eventually([&] {
    const Json events = Read(k8s::CollectionPath("v1", ns(), "events"));
    for (const Json& event : events["items"]) {
      if (event["reason"] == "ApiServerWarning" &&
          event["message"].get<std::string>().find(R"(j-worker-0: env[1]: hides "A")") !=
              std::string::npos) {
        return event["type"] == "Warning";
      }
    }
    return false;
  }));
}

TEST_F(Edges, AControlLoopThatGetsNoAnswerIsSeenToStandStill) {
  FLEET_NEEDS_FAKE_SERVER();
  EXPECT_EQ(process_->controller.standing_still().count(), 0);
  Fault slow;
  slow.kind = Fault::Kind::kDelay;
  slow.delay = std::chrono::milliseconds(800);
  slow.method = "POST";
  slow.times = 2;
  fake()->Inject(slow);
  Submit("j", {{"Worker", 1}});
  EXPECT_TRUE(Eventually(
      [&] { return process_->controller.standing_still() > std::chrono::milliseconds(200); }));
  ASSERT_TRUE(Becomes("j", "Created"));
  EXPECT_TRUE(Eventually([&] { return process_->controller.standing_still().count() == 0; }));
}

}  // namespace
}  // namespace tensorfleet::controller
