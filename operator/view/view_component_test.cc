// The pages and the program, against an API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "operator/k8s/connect/transport.h"
#include "operator/testing/api_fixture.h"
#include "operator/view/ui_server.h"

namespace tensorfleet::view {
namespace {

using tensorfleet::testing::Json;
using ::testing::HasSubstr;
using ::testing::Not;

class View : public tensorfleet::testing::ApiFixture {
 protected:
  void SetUp() override {
    FLEET_NEEDS_FAKE_SERVER();
    reader_ = std::make_unique<JobReader>(&client());
    UiOptions options;
    options.port = 0;
    options.ns = ns();
    auto ui = UiServer::Start(options, reader_.get());
    ASSERT_EQ(ui.status(), OkStatus());
    ui_ = *std::move(ui);
  }
  void MakeJob(const std::string& name) {
    MustCreate(k8s::CollectionPath("kubeflow.org/v1", ns(), "tfjobs"),
               {{"apiVersion", "kubeflow.org/v1"},
                {"kind", "TFJob"},
                {"metadata", {{"name", name}, {"namespace", ns()}}},
                {"spec", {{"tfReplicaSpecs", {{"Worker", {{"replicas", 1}}}}}}}});
    MustCreate(k8s::CollectionPath("v1", ns(), "pods"),
               {{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata",
                 {{"name", name + "-worker-0"},
                  {"namespace", ns()},
                  {"labels",
                   {{"training.kubeflow.org/job-name", name},
                    {"training.kubeflow.org/replica-type", "worker"},
                    {"training.kubeflow.org/replica-index", "0"}}}}},
                {"spec", {{"containers", Json::array()}}}});
  }
  // The answer to `method target`, its head included.
  std::string Ask(const std::string& target, const std::string& host = "localhost",
                  const std::string& method = "GET") {
    auto stream = http::Stream::Connect({"127.0.0.1", ui_->port()}, nullptr, "",
                                        http::After(std::chrono::seconds(10)), nullptr);
    if (!stream.ok()) return stream.status().ToString();
    const std::string request =
        method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
    const auto deadline = http::After(std::chrono::seconds(20));
    EXPECT_EQ((*stream)->Write(request, deadline), OkStatus());
    std::string answer;
    char piece[4096];
    for (;;) {
      const StatusOr<size_t> n = (*stream)->Read(piece, sizeof(piece), deadline);
      if (!n.ok() || *n == 0) return answer;
      answer.append(piece, *n);
    }
  }

  // A file that leads to the API server.
  std::string Kubeconfig() {
    const std::string path = ::testing::TempDir() + "/view-kubeconfig-" + ns();
    std::ofstream(path) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                        << "clusters: [{name: c, cluster: {server: '" << fake()->url() << "'}}]\n"
                        << "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                        << "users: [{name: u, user: {}}]\n";
    return path;
  }

  std::unique_ptr<JobReader> reader_;
  std::unique_ptr<UiServer> ui_;
};

TEST_F(View, JobsAreListedAndShown) {
  MakeJob("digits");
  EXPECT_THAT(Ask("/"), HasSubstr("/jobs/" + ns() + "/digits"));
  const std::string page = Ask("/jobs/" + ns() + "/digits");
  EXPECT_THAT(page, HasSubstr("200 OK"));
  EXPECT_THAT(page, HasSubstr("worker-0"));
  EXPECT_THAT(page, HasSubstr("Submitted"));
}

TEST_F(View, WhatIsNotThereIsAnErrorWithItsName) {
  const std::string page = Ask("/jobs/" + ns() + "/missing");
  EXPECT_THAT(page, HasSubstr("404 Not Found"));
  EXPECT_THAT(page, HasSubstr("missing"));
  EXPECT_THAT(Ask("/nothing"), HasSubstr("404 Not Found"));
}

TEST_F(View, NamesThatWouldLeadElsewhereAreRefused) {
  const int before = fake()->CountRequests("GET", "secrets");
  for (const char* target :
       {"/jobs/../secrets", "/jobs/a%2Fb/c", "/jobs/a/..%2f..%2fsecrets",
        "/logs/a/b%2F..%2F..%2Fsecrets", "/jobs/A/b", "/?namespace=a%2Fsecrets"}) {
    EXPECT_THAT(Ask(target), Not(HasSubstr("200 OK"))) << target;
  }
  EXPECT_EQ(fake()->CountRequests("GET", "secrets"), before);
}

TEST_F(View, OnlyReadsAndOnlyByItsOwnName) {
  EXPECT_THAT(Ask("/", "localhost", "DELETE"), HasSubstr("405"));
  EXPECT_THAT(Ask("/", "localhost", "POST"), HasSubstr("405"));
  EXPECT_THAT(Ask("/", "attacker.example"), HasSubstr("403"));
  EXPECT_THAT(Ask("/", "127.0.0.1:1234"), HasSubstr("200 OK"));
}

TEST_F(View, ScriptsAreForbiddenToPages) {
  EXPECT_THAT(Ask("/"), HasSubstr("Content-Security-Policy: default-src 'none'"));
}

TEST_F(View, ManyJobsComeInPages) {
  for (int i = 0; i < 3; ++i) MakeJob("job-" + std::to_string(i));
  const StatusOr<JobPage> page = reader_->List(ns(), 2, "");
  ASSERT_EQ(page.status(), OkStatus());
  if (page->next.empty()) GTEST_SKIP() << "this API server gives no pages";
  EXPECT_EQ(page->jobs.size(), 2u);
  EXPECT_EQ(reader_->List(ns(), 2, page->next)->jobs.size(), 1u);
}

TEST_F(View, TopShowsTheJobOnce) {
  MakeJob("digits");
  const std::string command = std::string(TENSORFLEET_VIEW) + " top digits -n " + ns() +
                              " --count 1 --kubeconfig " + Kubeconfig() + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  char piece[1024];
  while (const size_t n = fread(piece, 1, sizeof(piece), pipe)) output.append(piece, n);
  EXPECT_EQ(pclose(pipe), 0) << output;
  EXPECT_THAT(output, HasSubstr(ns() + "/digits  Submitted"));
  EXPECT_THAT(output, HasSubstr("worker-0"));
}

TEST_F(View, UiSaysWhereItIsAndEndsWhenItIsTold) {
  const std::string command = "echo $$; exec " + std::string(TENSORFLEET_VIEW) +
                              " ui --port 0 --kubeconfig " + Kubeconfig() + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char line[1024] = {};
  ASSERT_NE(fgets(line, sizeof(line), pipe), nullptr);
  const pid_t pid = static_cast<pid_t>(std::atoi(line));
  ASSERT_GT(pid, 1);
  ASSERT_NE(fgets(line, sizeof(line), pipe), nullptr);
  EXPECT_THAT(std::string(line), HasSubstr("http://127.0.0.1:"));
  kill(pid, SIGTERM);
  EXPECT_EQ(pclose(pipe), 0);
}

}  // namespace
}  // namespace tensorfleet::view
