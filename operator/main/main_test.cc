// Flags, admission, certificates, dry runs and endpoints: what the process is made of, without a
// cluster.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "operator/main/admission.h"
#include "operator/main/certificates.h"
#include "operator/main/dry_run.h"
#include "operator/main/endpoints.h"
#include "operator/main/flags.h"

namespace tensorfleet::operator_main {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ErrorOf(const std::vector<std::string>& args) {
  return std::string(ParseFlags(args).status().message());
}

TEST(Flags, AreThoseOfTheReferenceWithItsDefaults) {
  const auto flags = ParseFlags({});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->metrics_bind_address, ":8080");
  EXPECT_EQ(flags->health_probe_bind_address, ":8081");
  EXPECT_EQ(flags->leader_election_id, "tensorfleet-operator.tensorfleet.dev");
  EXPECT_EQ(flags->webhook_server_port, 9443);
  EXPECT_FALSE(flags->leader_elect);
}

TEST(Flags, TakeEveryFormThatGoProgramsTake) {
  const auto flags = ParseFlags({"--leader-elect", "-controller-threads=3", "--namespace", "team",
                                 "--zap-devel=false", "--kube-api-qps=0.5", "--enable-scheme=tfjob",
                                 "--leader-election-lease-duration=1m"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_TRUE(flags->leader_elect);
  EXPECT_EQ(flags->controller_threads, 3);
  EXPECT_EQ(flags->ns, "team");
  EXPECT_FALSE(flags->zap_devel);
  EXPECT_EQ(flags->kube_api_qps, 0.5);
  EXPECT_EQ(flags->lease_duration, std::chrono::minutes(1));
}

TEST(Flags, OfOtherJobKindsAreTakenAndSaidToDoNothing) {
  const auto flags =
      ParseFlags({"--pytorch-init-container-image=alpine:3.10", "--mpi-kubectl-delivery-image", "x",
                  "--enable-scheme=TFJob", "--enable-scheme=PyTorchJob"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->notices.size(), 3u);
}

TEST(Flags, AreRefusedWithTheReason) {
  EXPECT_THAT(ErrorOf({"--no-such-flag"}), HasSubstr("unknown flag"));
  EXPECT_THAT(ErrorOf({"stray"}), HasSubstr("unexpected argument"));
  EXPECT_THAT(ErrorOf({"--namespace"}), HasSubstr("needs a value"));
  EXPECT_THAT(ErrorOf({"--controller-threads=0"}), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf({"--kube-api-qps=nan"}), HasSubstr("a number of at least 0"));
  EXPECT_THAT(ErrorOf({"--leader-elect=maybe"}), HasSubstr("true or false"));
  EXPECT_THAT(ErrorOf({"--zap-encoder=xml"}), HasSubstr("console or json"));
  EXPECT_THAT(ErrorOf({"--enable-scheme=FooJob"}), HasSubstr("scheme FooJob is not supported yet"));
  EXPECT_THAT(ErrorOf({"--enable-scheme=PyTorchJob"}), HasSubstr("does not name TFJob"));
  EXPECT_THAT(ErrorOf({"--leader-election-renew-deadline=20s"}), HasSubstr("must be shorter"));
}

TEST(Flags, AreAllInTheHelpAndInTheDocumentation) {
  std::ifstream file(FLEET_SOURCE_DIR "/operator/docs/flags.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const std::string& name : FlagNames()) {
    EXPECT_THAT(FlagsHelp(), HasSubstr("--" + name));
    EXPECT_THAT(text.str(), HasSubstr("`--" + name + "`"));
  }
}

json Job() {
  return json::parse(
      R"({"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"j","namespace":"ns"},
    "spec":{"runPolicy":{},"tfReplicaSpecs":{"Worker":{"replicas":2,"template":{"spec":{"containers":[
      {"name":"tensorflow","image":"i"}]}}}}}})");
}
json Review(const std::string& operation, const json& object, const json& old = json()) {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "u-1"}, {"operation", operation}, {"object", object}, {"oldObject", old}}}};
}
json Answer(const json& review) {
  const auto answer = AnswerAdmission(review.dump());
  EXPECT_EQ(answer.http_code, 200) << answer.body;
  return json::parse(answer.body)["response"];
}

TEST(Admission, AllowsAGoodJob) {
  const json answer = Answer(Review("CREATE", Job()));
  EXPECT_EQ(answer["uid"], "u-1");
  EXPECT_EQ(answer["allowed"], true);
}

TEST(Admission, RefusesABadOneWithTheRulesText) {
  json job = Job();
  job["metadata"]["name"] = "00test";
  const json answer = Answer(Review("CREATE", job));
  EXPECT_EQ(answer["allowed"], false);
  EXPECT_EQ(answer["status"]["code"], 403);
  EXPECT_EQ(answer["status"]["reason"], "Forbidden");
  EXPECT_THAT(answer["status"]["message"].get<std::string>(),
              HasSubstr("metadata.name: Invalid value: \"00test\""));
}

TEST(Admission, HoldsUpdatesToWhatMayNotChange) {
  json changed = Job();
  changed["spec"]["runPolicy"]["managedBy"] = "kubeflow.org/training-operator";
  const json answer = Answer(Review("UPDATE", changed, Job()));
  EXPECT_EQ(answer["allowed"], false);
  EXPECT_THAT(answer["status"]["message"].get<std::string>(), HasSubstr("field is immutable"));
}

TEST(Admission, RefusesAMisspeltFieldOfAPodTemplateWithItsPath) {
  json job = Job();
  job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["imagePullpolicy"] =
      "Always";
  const json answer = Answer(Review("CREATE", job));
  EXPECT_EQ(answer["allowed"], false);
  EXPECT_EQ(
      answer["status"]["message"],
      "spec.tfReplicaSpecs[Worker].template.spec.containers[0].imagePullpolicy: unknown field; "
      "did you mean \"imagePullPolicy\"?");
  EXPECT_EQ(Answer(Review("UPDATE", job, job))["allowed"], true)
      << "one that an older operator let in may be changed otherwise";
}

TEST(Admission, WarnsOfAFieldThatANewerKubernetesMayKnow) {
  json job = Job();
  job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["quantumEntanglement"] = true;
  const json answer = Answer(Review("CREATE", job));
  EXPECT_EQ(answer["allowed"], true);
  EXPECT_THAT(answer["warnings"].dump(), HasSubstr("quantumEntanglement: unknown field"));
}

TEST(Admission, RefusesATfConfigThatNoProcessCanBeGivenWithTheNumber) {
  json job = Job();
  job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 5000;
  const json answer = Answer(Review("CREATE", job));
  EXPECT_EQ(answer["allowed"], false);
  EXPECT_THAT(answer["status"]["message"].get<std::string>(),
              HasSubstr("spec.tfReplicaSpecs: Forbidden: TF_CONFIG would have 1"));
}

TEST(Admission, LetsDeletionsThrough) {
  EXPECT_EQ(Answer(Review("DELETE", json(), Job()))["allowed"], true);
}

TEST(Admission, CallsAnUndecodableObjectABadRequest) {
  EXPECT_EQ(Answer(Review("CREATE", 7))["status"]["code"], 400);
  EXPECT_EQ(Answer(Review("CREATE", json::object()))["status"]["code"], 400);
}

TEST(Admission, RefusesWhatIsNoReview) {
  for (const char* body :
       {"", "{}", "[1]", "null", R"({"kind":"AdmissionReview"})",
        R"({"kind":"AdmissionReview","request":[]})",
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{}})"}) {
    EXPECT_EQ(AnswerAdmission(body).http_code, 400) << body;
  }
}

const std::vector<std::string> kNames = {"training-operator.kubeflow.svc", "127.0.0.1"};
const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(Certificates, AreGoodForTheirNamesAndTimes) {
  const auto set = MakeCertificates(kNames, kNow);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(NeededRenewal(*set, kNames, kNow), Renewal::kNone);
  EXPECT_EQ(*NotAfter(set->server_certificate), kNow + kServerLife);
  EXPECT_EQ(*NotAfter(set->ca_certificate), kNow + kAuthorityLife);
}

TEST(Certificates, AreRenewedInTimeAndForNewNames) {
  auto set = *MakeCertificates(kNames, kNow);
  EXPECT_EQ(NeededRenewal(set, kNames, kNow + kServerLife - kRenewAhead - absl::Hours(1)),
            Renewal::kNone);
  EXPECT_EQ(NeededRenewal(set, kNames, kNow + kServerLife - kRenewAhead + absl::Hours(1)),
            Renewal::kServer);
  EXPECT_EQ(NeededRenewal(set, kNames, kNow + kAuthorityLife - kRenewAhead + absl::Hours(1)),
            Renewal::kAll);
  EXPECT_EQ(NeededRenewal(set, {"another.name"}, kNow), Renewal::kServer);
  const std::string authority = set.ca_certificate;
  ASSERT_TRUE(RenewServer({"another.name"}, kNow, &set).ok());
  EXPECT_EQ(NeededRenewal(set, {"another.name"}, kNow), Renewal::kNone);
  EXPECT_EQ(set.ca_certificate, authority);
}

TEST(Certificates, ThatAreBrokenAreMadeAnew) {
  EXPECT_EQ(NeededRenewal({}, kNames, kNow), Renewal::kAll);
  const auto good = *MakeCertificates(kNames, kNow);
  const auto other = *MakeCertificates(kNames, kNow);
  auto mixed = good;
  mixed.server_key = other.server_key;
  EXPECT_EQ(NeededRenewal(mixed, kNames, kNow), Renewal::kServer);
  mixed = good;
  mixed.ca_key = other.ca_key;
  EXPECT_EQ(NeededRenewal(mixed, kNames, kNow), Renewal::kAll);
  mixed = good;
  mixed.server_certificate = other.server_certificate;
  mixed.server_key = other.server_key;
  EXPECT_EQ(NeededRenewal(mixed, kNames, kNow), Renewal::kServer);
}

TEST(DryRun, ShowsPodsServicesAndStatus) {
  const auto text = DryRun(Job().dump(), {}, kNow);
  ASSERT_TRUE(text.ok()) << text.status();
  for (const char* part :
       {"# TFJob ns/j: 4 actions", "j-worker-0", "j-worker-1", "TF_CONFIG", "TFJobCreated"}) {
    EXPECT_THAT(*text, HasSubstr(part));
  }
}

TEST(DryRun, SaysWhatAdmissionWouldRefuse) {
  json job = Job();
  job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = -1;
  EXPECT_THAT(*DryRun(job.dump(), {}, kNow), HasSubstr("would be refused: "));
}

TEST(DryRun, TakesTheListsThatKubectlPrints) {
  const json list = {{"kind", "List"}, {"items", json::array({Job(), Job()})}};
  const auto text = DryRun(list.dump(), {}, kNow);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_NE(text->find("# TFJob ns/j"), text->rfind("# TFJob ns/j"));
}

TEST(DryRun, FailsForOtherDocuments) {
  EXPECT_FALSE(DryRun("kind: Pod", {}, kNow).ok());
  EXPECT_FALSE(DryRun("", {}, kNow).ok());
  EXPECT_THAT(DryRun("kind: TFJob", {}, kNow).status().message(),
              HasSubstr("document 1: the TFJob has no metadata"));
}

// What a GET of `path` answers.
std::pair<int, std::string> Get(int port, const std::string& path,
                                const std::string& method = "GET", const std::string& body = "") {
  const auto deadline = http::After(std::chrono::seconds(5));
  auto stream = *http::Stream::Connect({"127.0.0.1", port, false}, nullptr, "", deadline, nullptr);
  http::MessageReader reader(stream.get(), http::MessageKind::kResponse);
  EXPECT_TRUE(stream
                  ->Write(absl::StrCat(method, " ", path, " HTTP/1.1\r\ncontent-length: ",
                                       body.size(), "\r\n\r\n", body),
                          deadline)
                  .ok());
  const auto head = reader.ReadHead(deadline);
  std::string text;
  EXPECT_TRUE(head.ok() && reader.ReadWholeBody(&text, 1 << 20, deadline).ok());
  return {head.ok() ? head->status : 0, text};
}

TEST(Endpoints, MetricsHaveTheReferencesNames) {
  Metrics metrics("host:443", 8, "lease");
  plan::Counters counters;
  counters.created = 2;
  counters.succeeded = 1;
  metrics.OnCounters("team", counters);
  metrics.OnReconciled(controller::Observer::Result::kError, std::chrono::milliseconds(3));
  metrics.OnRequest("POST", 201);
  metrics.SetLeader(true);
  auto server = *ServeAt("127.0.0.1:0", MetricsHandler(&metrics));
  const auto [code, text] = Get(server->port(), "/metrics");
  EXPECT_EQ(code, 200);
  for (const char* line :
       {"training_operator_jobs_created_total{framework=\"tensorflow\",job_namespace=\"team\"} 2",
        "training_operator_jobs_successful_total{framework=\"tensorflow\",job_namespace=\"team\"} "
        "1",
        "controller_runtime_reconcile_total{controller=\"tfjob-controller\",result=\"error\"} 1",
        "rest_client_requests_total{code=\"201\",host=\"host:443\",method=\"POST\"} 1",
        "leader_election_master_status{name=\"lease\"} 1", "workqueue_depth{",
        "process_resident_memory_bytes ", "workqueue_queue_duration_seconds_count{",
        "workqueue_work_duration_seconds_count{", "workqueue_unfinished_work_seconds{",
        "workqueue_longest_running_processor_seconds{",
        "controller_runtime_reconcile_total{controller=\"tfjob-controller\",result=\"requeue\"} 0",
        "controller_runtime_terminal_reconcile_errors_total{controller=\"tfjob-controller\"} 0",
        "controller_runtime_reconcile_panics_total{controller=\"tfjob-controller\"} 0"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_EQ(Get(server->port(), "/").first, 404);
}

// training-operator counted these where nobody could read them.
TEST(Metrics, OfPodsServicesAndPodGroupsAreServed) {
  using plan::ActionKind;
  Metrics metrics("h", 1, "l");
  const auto took = std::chrono::milliseconds(1);
  metrics.OnAction(ActionKind::kCreatePod, true, took);
  metrics.OnAction(ActionKind::kCreatePod, false, took);
  metrics.OnAction(ActionKind::kDeletePod, true, took);
  metrics.OnAction(ActionKind::kCreateService, true, took);
  metrics.OnAction(ActionKind::kCreateService, false, took);
  metrics.OnAction(ActionKind::kCreatePodGroup, true, took);
  metrics.OnAction(ActionKind::kDeletePodGroup, true, took);
  plan::Counters counters;
  counters.failed_pods = 2;
  metrics.OnCounters("ns", counters);
  const std::string text = metrics.Text();
  for (const char* line :
       {"\ncreated_pods_total 1\n", "\ndeleted_pods_total 1\n", "\nfailed_pods_total 2\n",
        "\nsucceeded_service_creation_total 1\n", "\nfailed_service_creation_total 1\n",
        "\ncreated_pod_groups_total 1\n", "\ndeleted_pod_groups_total 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Metrics, AdmissionsUnderWayAreCounted) {
  Metrics metrics("h", 1, "l");
  const std::string in_flight =
      "controller_runtime_webhook_requests_in_flight{webhook=\"/validate-kubeflow-org-v1-tfjob\"} ";
  metrics.OnAdmissionBegins();
  EXPECT_THAT(metrics.Text(), HasSubstr(in_flight + "1"));
  metrics.OnAdmission(200, true, std::chrono::milliseconds(1));
  EXPECT_THAT(metrics.Text(), HasSubstr(in_flight + "0"));
}

TEST(Metrics, AreAllInTheDocumentation) {
  std::ifstream file(FLEET_SOURCE_DIR "/operator/docs/metrics.md");
  std::stringstream documented;
  documented << file.rdbuf();
  Metrics metrics("h", 1, "l");
  // A family without series is not shown.
  metrics.OnCounters("ns", {1, 1, 1, 1, 1, 1});
  metrics.OnRequest("GET", 200);
  metrics.OnAction(plan::ActionKind::kCreatePod, true, std::chrono::milliseconds(1));
  metrics.OnStatusWrite(true);
  metrics.OnAdmissionBegins();
  metrics.OnAdmission(200, true, std::chrono::milliseconds(1));
  std::istringstream lines(metrics.Text());
  int families = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, kind, name;
    if (!(words >> hash >> kind >> name) || hash != "#" || kind != "TYPE") continue;
    EXPECT_THAT(documented.str(), HasSubstr("`" + name + "`"));
    ++families;
  }
  EXPECT_GT(families, 40);
}

TEST(Endpoints, ReadinessFollowsTheProcess) {
  std::atomic<bool> ready{false};
  auto server = *ServeAt("127.0.0.1:0", HealthHandler([&] { return ready.load(); },
                                                      [] { return std::chrono::seconds(0); }));
  EXPECT_EQ(Get(server->port(), "/healthz").first, 200);
  EXPECT_EQ(Get(server->port(), "/readyz").first, 503);
  ready = true;
  EXPECT_EQ(Get(server->port(), "/readyz?verbose").first, 200);
}

TEST(Endpoints, HealthSaysWhenTheControlLoopStandsStill) {
  std::atomic<int> minutes{9};
  auto server = *ServeAt(
      "127.0.0.1:0",
      HealthHandler([] { return true; }, [&] { return std::chrono::minutes(minutes.load()); }));
  EXPECT_EQ(Get(server->port(), "/healthz").first, 200);
  minutes = 11;
  EXPECT_EQ(Get(server->port(), "/healthz").first, 503);
  EXPECT_EQ(Get(server->port(), "/readyz").first, 200) << "the webhook answers";
}

TEST(Endpoints, WebhookAnswersPostsOnItsPathOnly) {
  Metrics metrics("h", 1, "l");
  auto server = *ServeAt("127.0.0.1:0", WebhookHandler(&metrics));
  EXPECT_EQ(Get(server->port(), kAdmissionPath, "POST", Review("CREATE", Job()).dump()).first, 200);
  EXPECT_EQ(Get(server->port(), kAdmissionPath, "POST", "junk").first, 400);
  EXPECT_EQ(Get(server->port(), kAdmissionPath).first, 405);
  EXPECT_EQ(Get(server->port(), "/other", "POST", "").first, 404);
  EXPECT_THAT(metrics.Text(), HasSubstr("controller_runtime_webhook_requests_total{code=\"400\""));
}

TEST(Endpoints, AddressesAreChecked) {
  EXPECT_EQ(*ServeAt("0", nullptr), nullptr);
  EXPECT_FALSE(ServeAt("8080", nullptr).ok());
  EXPECT_FALSE(ServeAt(":http", nullptr).ok());
  EXPECT_FALSE(ServeAt("not an address:1", nullptr).ok());
}

}  // namespace
}  // namespace tensorfleet::operator_main
