// --self-check against an API server that answers by rule.

#include "operator/main/self_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace tensorfleet::operator_main {
namespace {

using ::testing::HasSubstr;

std::string StatusObject(int code, const std::string& reason, const std::string& message) {
  return absl::StrCat(R"({"kind":"Status","code":)", code, R"(,"reason":")", reason,
                      R"(","message":")", message, R"("})");
}

// Takes every TFJob, or gives `good` for one with the right container and `bad` for others.
class RuledServer : public k8s::Transport {
 public:
  StatusOr<k8s::Response> Send(const k8s::Request& request) override {
    paths.push_back(request.path);
    const bool is_good = absl::StrContains(request.body, R"("name":"tensorflow")");
    return is_good ? good : bad;
  }
  StatusOr<k8s::Response> Stream(const k8s::Request&, OnData) override {
    return Unimplemented("nothing is streamed here");
  }

  k8s::Response good{201, {}, "{}"};
  k8s::Response bad{403,
                    {},
                    StatusObject(403, "Forbidden",
                                 "admission webhook denied the request: must have at least one "
                                 "container with name tensorflow")};
  std::vector<std::string> paths;
};

Status Check(RuledServer& server, bool webhook = true) {
  k8s::Client client(&server, nullptr);
  return SelfCheck(client, "ns", webhook);
}

TEST(SelfCheck, IsContentWhenGoodJobsAreTakenAndBadOnesRefused) {
  RuledServer server;
  EXPECT_TRUE(Check(server).ok());
}

TEST(SelfCheck, StoresNothing) {
  RuledServer server;
  ASSERT_TRUE(Check(server).ok());
  EXPECT_THAT(server.paths, ::testing::Each(HasSubstr("/namespaces/ns/tfjobs?dryRun=All")));
}

TEST(SelfCheck, FindsThatTheResourceIsMissing) {
  RuledServer server;
  server.good = {404, {}, "404 page not found"};
  EXPECT_THAT(std::string(Check(server).message()), HasSubstr("install deploy/crd"));
}

TEST(SelfCheck, FindsThatNobodyChecks) {
  RuledServer server;
  server.bad = {201, {}, "{}"};
  EXPECT_THAT(std::string(Check(server).message()), HasSubstr("no ValidatingWebhookConfiguration"));
}

TEST(SelfCheck, FindsThatTheWebhookDoesNotAnswer) {
  RuledServer server;
  server.good = {500, {}, StatusObject(500, "InternalError", "failed calling webhook")};
  EXPECT_THAT(std::string(Check(server).message()), HasSubstr("a good TFJob was not taken: "));
}

TEST(SelfCheck, TellsTheWebhookFromOthersThatRefuse) {
  RuledServer server;
  server.bad = {403, {}, StatusObject(403, "Forbidden", "exceeded quota")};
  EXPECT_THAT(std::string(Check(server).message()), HasSubstr("not by the operator's webhook"));
}

TEST(SelfCheck, AsksOnlyForTheResourceWithoutAWebhook) {
  RuledServer server;
  server.bad = {201, {}, "{}"};
  EXPECT_TRUE(Check(server, /*webhook=*/false).ok());
}

TEST(SelfCheck, TakesAJobOfThatNameForASign) {
  RuledServer server;
  server.good = {409, {}, StatusObject(409, "AlreadyExists", "self-check exists")};
  EXPECT_TRUE(Check(server).ok());
}

}  // namespace
}  // namespace tensorfleet::operator_main
