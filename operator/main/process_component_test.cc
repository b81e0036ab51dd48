// The operator's program as users run it: a process with flags and signals against an API server
// over HTTP.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "operator/http/stream.h"
#include "operator/testing/api_fixture.h"
#include "operator/testing/program.h"

namespace tensorfleet::operator_main {
namespace {

namespace fs = std::filesystem;
using tensorfleet::testing::Fault;
using tensorfleet::testing::Json;
using tensorfleet::testing::Program;
using ::testing::HasSubstr;

class ProcessTest : public tensorfleet::testing::ApiFixture {
 protected:
  void SetUp() override {
    FLEET_NEEDS_FAKE_SERVER();
    folder_ = fs::path(::testing::TempDir()) /
              absl::StrCat("operator-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(Kubeconfig()) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                                << "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                                << "clusters: [{name: k, cluster: {server: \"" << config().server
                                << "\"}}]\n"
                                << "users: [{name: u, user: {}}]\n";
  }
  void TearDown() override {
    if (!HasFailure() && !folder_.empty()) fs::remove_all(folder_);
  }

  std::string Kubeconfig() const { return (folder_ / "kubeconfig").string(); }

  std::unique_ptr<Program> Start(const std::string& name, std::vector<std::string> flags = {},
                                 const std::vector<std::string>& environment = {}) {
    std::vector<std::string> args = {TENSORFLEET_OPERATOR, "--kubeconfig=" + Kubeconfig(),
                                     "--metrics-bind-address=0", "--health-probe-bind-address=0"};
    args.insert(args.end(), flags.begin(), flags.end());
    return std::make_unique<Program>(args, environment, (folder_ / name).string());
  }
  // Without --kubeconfig and addresses.
  std::string Print(const std::vector<std::string>& args, int exit_code) {
    std::vector<std::string> all = {TENSORFLEET_OPERATOR};
    all.insert(all.end(), args.begin(), args.end());
    Program program(all, {"KUBECONFIG="}, (folder_ / "printed").string());
    EXPECT_EQ(program.Finish(), exit_code) << program.Printed();
    return program.Printed();
  }

  static Json Job(const std::string& name, int workers) {
    return {{"apiVersion", "kubeflow.org/v1"},
            {"kind", "TFJob"},
            {"metadata", {{"name", name}}},
            {"spec",
             {{"tfReplicaSpecs",
               {{"Worker",
                 {{"replicas", workers},
                  {"template",
                   {{"spec",
                     {{"containers",
                       Json::array({{{"name", "tensorflow"}, {"image", "i"}}})}}}}}}}}}}}};
  }
  void Submit(const std::string& name, int workers = 2) {
    MustCreate(k8s::CollectionPath("kubeflow.org/v1", ns(), "tfjobs"), Job(name, workers));
  }
  Json Read(const std::string& path) {
    const auto text = client().Get(path);
    return text.ok() ? Json::parse(*text) : Json();
  }
  size_t Count(const char* plural) {
    return Read(k8s::CollectionPath("v1", ns(), plural))["items"].size();
  }
  std::string Holder() {
    const Json lease = Read(k8s::ObjectPath("coordination.k8s.io/v1", "tensorfleet-system",
                                            "leases", "tensorfleet-operator.tensorfleet.dev"));
    return lease.is_object() ? lease["spec"].value("holderIdentity", "") : "";
  }
  static int FreePort() {
    return (*http::Server::Start({}, [](const auto&, auto&) {}))->port();
  }
  static int StatusOf(int port, const std::string& path) {
    const auto deadline = http::After(std::chrono::seconds(5));
    auto stream = http::Stream::Connect({"127.0.0.1", port, false}, nullptr, "", deadline, nullptr);
    if (!stream.ok()) return 0;
    http::MessageReader reader(stream->get(), http::MessageKind::kResponse);
    if (!(*stream)->Write(absl::StrCat("GET ", path, " HTTP/1.1\r\n\r\n"), deadline).ok()) return 0;
    const auto head = reader.ReadHead(deadline);
    return head.ok() ? head->status : 0;
  }

  fs::path folder_;
};

TEST_F(ProcessTest, ReconcilesUntilItIsToldToEnd) {
  auto process = Start("log");
  Submit("j");
  EXPECT_TRUE(Eventually([&] { return Count("pods") == 2 && Count("services") == 2; }));
  process->Signal(SIGTERM);
  EXPECT_EQ(process->Finish(), 0) << process->Printed();
}

TEST_F(ProcessTest, IsReadyOnceItHasListedEverything) {
  Fault slow;
  slow.kind = Fault::Kind::kDelay;
  slow.delay = std::chrono::milliseconds(1500);
  slow.path_contains = "/tfjobs?limit";
  fake()->Inject(slow);
  const int health = FreePort(), metrics = FreePort();
  auto process = Start("log", {absl::StrCat("--health-probe-bind-address=127.0.0.1:", health),
                               absl::StrCat("--metrics-bind-address=127.0.0.1:", metrics)});
  EXPECT_TRUE(Eventually([&] { return StatusOf(health, "/healthz") == 200; }));
  EXPECT_EQ(StatusOf(health, "/readyz"), 503);
  EXPECT_TRUE(Eventually([&] { return StatusOf(health, "/readyz") == 200; }));
  EXPECT_EQ(StatusOf(metrics, "/metrics"), 200);
}

TEST_F(ProcessTest, FinishesWhatIsUnderWayWhenToldToEnd) {
  Fault slow;
  slow.kind = Fault::Kind::kDelay;
  slow.delay = std::chrono::milliseconds(700);
  slow.method = "POST";
  slow.path_contains = "/pods";
  slow.times = 2;
  fake()->Inject(slow);
  auto process = Start("log", {"--leader-elect"});
  Submit("j");
  ASSERT_TRUE(Eventually([&] { return fake()->CountRequests("POST", "/pods") > 0; }));
  process->Signal(SIGTERM);
  EXPECT_EQ(process->Finish(), 0) << process->Printed();
  EXPECT_EQ(Count("pods"), 2u);
  EXPECT_EQ(Count("services"), 2u);
  EXPECT_EQ(Holder(), "") << "the lease is released";
  EXPECT_GT(Count("events"), 0u) << "events that waited are sent";
}

TEST_F(ProcessTest, TakesOverAtOnceFromALeaderThatEnds) {
  auto first = Start("first", {"--leader-elect"});
  ASSERT_TRUE(Eventually([&] { return !Holder().empty(); }));
  const std::string old = Holder();
  auto second = Start("second", {"--leader-elect"});
  ASSERT_TRUE(Eventually(
      [&] { return second->Printed().find("waiting to become leader") != std::string::npos; }));
  first->Signal(SIGTERM);
  ASSERT_EQ(first->Finish(), 0);
  const auto begin = std::chrono::steady_clock::now();
  Submit("j");
  EXPECT_TRUE(Eventually([&] { return Count("pods") == 2; }));
  // Two retry periods of a second; the lease would have lasted fifteen.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(7));
  EXPECT_NE(Holder(), old);
}

TEST_F(ProcessTest, TakesOverFromALeaderThatIsKilledOnceItsLeaseIsOver) {
  const std::vector<std::string> flags = {"--leader-elect", "--leader-election-lease-duration=2s",
                                          "--leader-election-renew-deadline=1500ms",
                                          "--leader-election-retry-period=200ms"};
  auto first = Start("first", flags);
  ASSERT_TRUE(Eventually([&] { return !Holder().empty(); }));
  const std::string old = Holder();
  auto second = Start("second", flags);
  first->Signal(SIGKILL);
  ASSERT_EQ(first->Finish(), -SIGKILL);
  Submit("j");
  EXPECT_TRUE(Eventually([&] { return Count("pods") == 2; }));
  EXPECT_NE(Holder(), old);
}

TEST_F(ProcessTest, EndsWithAnErrorWhenItsLeadershipIsTaken) {
  auto process = Start("log", {"--leader-elect", "--leader-election-retry-period=100ms"});
  ASSERT_TRUE(Eventually([&] { return !Holder().empty(); }));
  const std::string path = k8s::ObjectPath("coordination.k8s.io/v1", "tensorfleet-system", "leases",
                                           "tensorfleet-operator.tensorfleet.dev");
  // Its own renewals may come in between.
  ASSERT_TRUE(Eventually([&] {
    return client().MergePatch(path, R"({"spec":{"holderIdentity":"another"}})").ok() &&
           Holder() == "another";
  }));
  EXPECT_EQ(process->Finish(), 1);
  EXPECT_THAT(process->Printed(), HasSubstr("leadership was taken by another"));
}

// Two controllers make and delete each other's pods: ours waits, and the move is whole when the
// other is scaled to 0.
TEST_F(ProcessTest, DoesNotReconcileBesideATrainingOperator) {
  const std::string deployments = k8s::CollectionPath("apps/v1", "kubeflow", "deployments");
  MustCreate(deployments, {{"apiVersion", "apps/v1"},
                           {"kind", "Deployment"},
                           {"metadata",
                            {{"name", "training-operator"},
                             {"labels", {{"control-plane", "kubeflow-training-operator"}}}}},
                           {"spec",
                            {{"replicas", 1},
                             {"template",
                              {{"spec",
                                {{"containers", Json::array({{{"name", "training-operator"},
                                                              {"command", {"/manager"}}}})}}}}}}}});
  const int health = FreePort();
  auto process = Start("log", {absl::StrCat("--health-probe-bind-address=127.0.0.1:", health)});
  Submit("j");
  ASSERT_TRUE(Eventually([&] {
    return process->Printed().find("deployment kubeflow/training-operator") != std::string::npos;
  }));
  EXPECT_TRUE(Eventually([&] { return StatusOf(health, "/readyz") == 200; }))
      << "its webhook answers meanwhile";
  EXPECT_EQ(Count("pods"), 0u);
  ASSERT_TRUE(
      client().MergePatch(deployments + "/training-operator", R"({"spec":{"replicas":0}})").ok());
  EXPECT_TRUE(Eventually([&] { return Count("pods") == 2; }));
}

TEST_F(ProcessTest, ReconcilesBesideOthersWhenAsked) {
  MustCreate(k8s::CollectionPath("coordination.k8s.io/v1", "elsewhere", "leases"),
             {{"apiVersion", "coordination.k8s.io/v1"},
              {"kind", "Lease"},
              {"metadata", {{"name", "1ca428e5.training-operator.kubeflow.org"}}},
              {"spec", {{"holderIdentity", "x"}, {"leaseDurationSeconds", 600}}}});
  auto process = Start("log", {"--beside-others"});
  Submit("j");
  EXPECT_TRUE(Eventually([&] { return Count("pods") == 2; }));
}

// kill -9 again and again while jobs are being made: nothing twice, nothing lost.
TEST_F(ProcessTest, LosesNothingHoweverOftenItIsKilled) {
  for (int i = 0; i < 10; ++i) Submit(absl::StrCat("j", i), 3);
  for (int round = 0; round < 12; ++round) {
    auto process = Start(absl::StrCat("log", round));
    const int wanted = fake()->CountRequests("POST", "/pods") + 1 + round % 4;
    Eventually(
        [&] { return fake()->CountRequests("POST", "/pods") >= wanted || Count("pods") == 30; });
    process->Signal(SIGKILL);
    ASSERT_EQ(process->Finish(), -SIGKILL);
  }
  auto process = Start("log");
  EXPECT_TRUE(Eventually([&] { return Count("pods") == 30 && Count("services") == 30; }));
  int made = 0;
  int64_t version = 0;
  const auto events = fake()->store().EventsAfter(tensorfleet::testing::kPods, ns(),
                                                  tensorfleet::testing::LabelSelector(""), &version,
                                                  http::After(std::chrono::milliseconds(1)));
  for (const Json& event : *events) made += event["type"] == "ADDED";
  EXPECT_EQ(made, 30);
}

TEST_F(ProcessTest, LooksAtOneNamespaceOnlyWhenAsked) {
  auto process = Start("log", {}, {"KUBEFLOW_NAMESPACE=" + ns()});
  Submit("j");
  ASSERT_TRUE(Eventually([&] { return Count("pods") == 2; }));
  for (const auto& request : fake()->requests()) {
    EXPECT_THAT(request.target, HasSubstr("/namespaces/" + ns() + "/"));
  }
}

TEST_F(ProcessTest, TellsReplicasTheClusterDomain) {
  auto process = Start("log", {}, {"CUSTOM_CLUSTER_DOMAIN=fleet.example"});
  Submit("j");
  ASSERT_TRUE(Eventually([&] { return Count("pods") == 2; }));
  EXPECT_THAT(Read(k8s::CollectionPath("v1", ns(), "pods")).dump(),
              HasSubstr("j-worker-0." + ns() + ".svc.fleet.example:2222"));
}

TEST_F(ProcessTest, LogsJsonWhenAsked) {
  auto process = Start("log", {"--zap-devel=false"});
  ASSERT_TRUE(
      Eventually([&] { return process->Printed().find("reconciling") != std::string::npos; }));
  process->Signal(SIGTERM);
  ASSERT_EQ(process->Finish(), 0);
  std::istringstream lines(process->Printed());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(Json::parse(line, nullptr, false).is_object()) << line;
  }
  EXPECT_GT(count, 1);
}

TEST_F(ProcessTest, EndsWhenTheGangSchedulersGroupsAreMissing) {
  auto process = Start("log", {"--gang-scheduler-name=volcano"});
  EXPECT_EQ(process->Finish(), 1);
  EXPECT_THAT(process->Printed(), HasSubstr("the cluster has no"));
}

TEST_F(ProcessTest, SaysItsVersion) {
  const std::string text = Print({"--version"}, 0);
  EXPECT_THAT(text, HasSubstr("tensorfleet-operator "));
  EXPECT_THAT(text, HasSubstr("commit"));
}

TEST_F(ProcessTest, DryRunNeedsNoCluster) {
  std::ofstream(folder_ / "job.yaml") << Job("j", 2).dump();
  const std::string text = Print({"--dry-run", (folder_ / "job.yaml").string()}, 0);
  EXPECT_THAT(text, HasSubstr("j-worker-1"));
  EXPECT_THAT(text, HasSubstr("TF_CONFIG"));
  EXPECT_THAT(Print({"--dry-run=" + (folder_ / "none.yaml").string()}, 1), HasSubstr("none.yaml"));
}

TEST_F(ProcessTest, RefusesAFlagThatItDoesNotKnow) {
  EXPECT_THAT(Print({"--no-such-flag"}, 1), HasSubstr("unknown flag"));
}

}  // namespace
}  // namespace tensorfleet::operator_main
