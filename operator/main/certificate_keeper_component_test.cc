// The webhook's certificates against an API server, and the webhook over TLS with them.

#include <gmock/gmock.h>

#include "absl/strings/escaping.h"
#include "operator/http/tls.h"
#include "operator/main/certificate_keeper.h"
#include "operator/main/endpoints.h"
#include "operator/testing/api_fixture.h"

namespace tensorfleet::operator_main {
namespace {

using tensorfleet::testing::Fault;
using tensorfleet::testing::Json;
using ::testing::HasSubstr;

class KeeperTest : public tensorfleet::testing::ApiFixture {
 protected:
  CertificateKeeperOptions Options() {
    CertificateKeeperOptions options;
    options.ns = ns();
    options.secret_name = "webhook-cert";
    options.config_name = "validator-" + ns();
    options.service = "tensorfleet-operator";
    options.names = {"127.0.0.1"};
    return options;
  }
  Json Secret() {
    const auto text = client().Get(k8s::ObjectPath("v1", ns(), "secrets", "webhook-cert"));
    return text.ok() ? Json::parse(*text) : Json();
  }
  std::string Configs() const {
    return k8s::CollectionPath("admissionregistration.k8s.io/v1", "",
                               "validatingwebhookconfigurations");
  }
  static Json Entry(const std::string& name, const Json& client_config) {
    return {{"name", name},
            {"sideEffects", "None"},
            {"failurePolicy", "Ignore"},
            {"admissionReviewVersions", Json::array({"v1"})},
            {"rules", Json::array()},
            {"clientConfig", client_config}};
  }
  Json Service(const std::string& name, const std::string& path) {
    return {{"service", {{"name", name}, {"namespace", ns()}, {"path", path}}}};
  }
  static Json Url(const std::string& path) {
    Json config;
    config["url"] = "https://127.0.0.1:1" + path;
    return config;
  }
  void MakeConfig(const std::vector<Json>& entries) {
    MustCreate(Configs(), {{"apiVersion", "admissionregistration.k8s.io/v1"},
                           {"kind", "ValidatingWebhookConfiguration"},
                           {"metadata", {{"name", Options().config_name}}},
                           {"webhooks", entries}});
  }
  void MakeConfig() {
    MakeConfig({Entry("validator.tfjob.tensorfleet.dev",
                      Service("tensorfleet-operator", kAdmissionPath))});
  }
  Json Config() { return Json::parse(*client().Get(Configs() + "/" + Options().config_name)); }
  void TearDown() override { (void)client().Delete(Configs() + "/" + Options().config_name); }
};

TEST_F(KeeperTest, MakesTheSecretAndPublishesItsAuthority) {
  MakeConfig();
  CertificateKeeper keeper(&client(), Clock::Real(), Options());
  ASSERT_TRUE(keeper.Refresh().ok());
  EXPECT_TRUE(keeper.is_ready());
  const Json secret = Secret();
  EXPECT_EQ(Config()["webhooks"][0]["clientConfig"]["caBundle"], secret["data"]["ca.crt"]);
}

// A training-operator that stays for its other kinds has its entries in the same configuration, or
// answers at the same Service, with an authority of its own.
TEST_F(KeeperTest, LeavesEntriesOfOthersAlone) {
  MakeConfig({Entry("a.webhook.example", Service("training-operator", kAdmissionPath)),
              Entry("b.webhook.example", Service("tensorfleet-operator", "/validate-pytorchjob")),
              Entry("c.webhook.example", Url("/x")),
              Entry("d.webhook.example", Url(kAdmissionPath)),
              Entry("e.webhook.example", Service("tensorfleet-operator", kAdmissionPath))});
  CertificateKeeper keeper(&client(), Clock::Real(), Options());
  ASSERT_TRUE(keeper.Refresh().ok());
  std::string ours;
  const Json config = Config();
  for (const Json& entry : config["webhooks"]) {
    if (entry["clientConfig"].contains("caBundle")) ours += entry["name"].get<std::string>() + " ";
  }
  EXPECT_EQ(ours, "d.webhook.example e.webhook.example ");
}

TEST_F(KeeperTest, SaysThatAConfigurationHasNoEntryOfOurs) {
  MakeConfig({Entry("a.webhook.example", Service("training-operator", kAdmissionPath))});
  CertificateKeeper keeper(&client(), Clock::Real(), Options());
  EXPECT_THAT(keeper.Refresh().message(), HasSubstr("/tensorfleet-operator"));
  EXPECT_TRUE(keeper.is_ready()) << "whoever trusts us by other means is answered";
}

TEST_F(KeeperTest, FillsTheEmptySecretOfTrainingOperatorsManifests) {
  MustCreate(k8s::CollectionPath("v1", ns(), "secrets"),
             {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", "webhook-cert"}}}});
  CertificateKeeper keeper(&client(), Clock::Real(), Options());
  ASSERT_TRUE(keeper.Refresh().ok());
  EXPECT_TRUE(Secret()["data"].contains("tls.crt"));
}

TEST_F(KeeperTest, TwoReplicasUseOneSetOfCertificates) {
  CertificateKeeper first(&client(), Clock::Real(), Options());
  CertificateKeeper second(&client(), Clock::Real(), Options());
  ASSERT_TRUE(first.Refresh().ok());
  const Json made = Secret();
  ASSERT_TRUE(second.Refresh().ok());
  EXPECT_EQ(Secret()["data"], made["data"]);
}

TEST_F(KeeperTest, RenewsAheadOfTheEndAndKeepsTheAuthority) {
  ManualClock clock(Clock::Real()->NowUnixNanos());
  CertificateKeeper keeper(&client(), &clock, Options());
  ASSERT_TRUE(keeper.Refresh().ok());
  const Json before = Secret();
  const auto context = keeper.context();
  clock.Advance(std::chrono::hours(24 * 300));
  ASSERT_TRUE(keeper.Refresh().ok());
  EXPECT_NE(Secret()["data"]["tls.crt"], before["data"]["tls.crt"]);
  EXPECT_EQ(Secret()["data"]["ca.crt"], before["data"]["ca.crt"]);
  EXPECT_NE(keeper.context(), context);
}

TEST_F(KeeperTest, LosesARaceGracefully) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.code = 409;
  fault.reason = "AlreadyExists";
  fault.method = "POST";
  fault.path_contains = "/secrets";
  fake()->Inject(fault);
  CertificateKeeper keeper(&client(), Clock::Real(), Options());
  EXPECT_TRUE(keeper.Refresh().ok());
}

TEST_F(KeeperTest, TheWebhookAnswersOverTlsToWhoTrustsTheAuthority) {
  CertificateKeeper keeper(&client(), Clock::Real(), Options());
  ASSERT_TRUE(keeper.Refresh().ok());
  Metrics metrics("h", 1, "l");
  http::Server::Options serve;
  serve.tls = [&] { return keeper.context(); };
  auto server = *http::Server::Start(serve, WebhookHandler(&metrics));
  std::string ca;
  ASSERT_TRUE(absl::Base64Unescape(Secret()["data"]["ca.crt"].get<std::string>(), &ca));
  k8s::ClusterConfig config;
  config.server = absl::StrCat("https://127.0.0.1:", server->port());
  config.tls.ca_pem = ca;
  auto transport = *k8s::MakeHttpTransport(config);
  k8s::Request request;
  request.method = "POST";
  request.path = kAdmissionPath;
  request.body = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
                     "request":{"uid":"x","operation":"DELETE"}})";
  const auto answer = transport->Send(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(Json::parse(answer->body)["response"]["allowed"], true);
}

}  // namespace
}  // namespace tensorfleet::operator_main
