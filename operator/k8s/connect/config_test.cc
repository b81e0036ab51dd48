#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "operator/k8s/connect/cluster_config.h"

namespace tensorfleet::k8s {
namespace {

using ::testing::HasSubstr;

constexpr char kTwoContexts[] = R"(
apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {cluster: c1, user: u1, namespace: team}
- name: two
  context: {cluster: c2, user: u2}
clusters:
- name: c1
  cluster: {server: "https://one:6443", certificate-authority-data: Q0EtREFUQQ==, tls-server-name: api.one}
- name: c2
  cluster: {server: "https://two", insecure-skip-tls-verify: true}
users:
- name: u1
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
- name: u2
  user: {token: secret}
)";

StatusOr<ClusterConfig> Parse(const std::string& text, const std::string& context = "",
                              const std::string& folder = "") {
  return ParseKubeconfig(text, folder, context, Clock::Real());
}

// A folder that is removed with its files.
class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/fleet-config-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TempFolder() {
    for (const std::string& file : files_) unlink(file.c_str());
    rmdir(path_.c_str());
  }
  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string file = path_ + "/" + name;
    std::ofstream(file) << text;
    chmod(file.c_str(), mode);
    files_.push_back(file);
    return file;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

TEST(Kubeconfig, TakesTheCurrentContext) {
  const auto config = Parse(kTwoContexts);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://one:6443");
  EXPECT_EQ(config->namespace_, "team");
  EXPECT_EQ(config->tls.ca_pem, "CA-DATA");
  EXPECT_EQ(config->tls.certificate_pem, "CERT");
  EXPECT_EQ(config->tls.key_pem, "KEY");
  EXPECT_EQ(config->tls_server_name, "api.one");
  EXPECT_EQ(config->credentials, nullptr);
}

TEST(Kubeconfig, TakesANamedContext) {
  const auto config = Parse(kTwoContexts, "two");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://two");
  EXPECT_TRUE(config->tls.insecure_skip_verify);
  EXPECT_EQ(config->credentials->Get()->authorization, "Bearer secret");
}

TEST(Kubeconfig, SaysWhatIsMissing) {
  EXPECT_THAT(Parse(kTwoContexts, "three").status().message(),
              HasSubstr("no entry named \"three\""));
  EXPECT_THAT(Parse("a: [").status().message(), HasSubstr("not YAML"));
  EXPECT_THAT(Parse("just text").status().message(), HasSubstr("not a map"));
  EXPECT_THAT(Parse("{}").status().message(), HasSubstr("no current-context"));
  EXPECT_THAT(Parse("{current-context: a, contexts: [{name: a, context: {cluster: x}}]}")
                  .status()
                  .message(),
              HasSubstr("clusters has no entry named \"x\""));
  EXPECT_THAT(LoadKubeconfig("/nowhere/config", "", Clock::Real()).status().message(),
              HasSubstr("/nowhere/config cannot be read"));
}

std::string WithUser(const std::string& user) {
  return absl::StrCat(
      "{current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], ",
      "clusters: [{name: c, cluster: {server: 'https://h'}}], users: [{name: u, user: ", user,
      "}]}");
}

TEST(Kubeconfig, RefusesWhatItCannotDo) {
  EXPECT_THAT(Parse(WithUser("{auth-provider: {name: gcp}}")).status().message(),
              HasSubstr("exec plug-in"));
  EXPECT_THAT(Parse(WithUser("{exec: {command: x, apiVersion: v0}}")).status().message(),
              HasSubstr("exec.apiVersion \"v0\" is not supported"));
  EXPECT_THAT(Parse(WithUser("{client-key-data: '*'}")).status().message(),
              HasSubstr("not base64"));
  // Left out, they would give rights that nobody meant to give.
  for (const char* field : {"as-groups: [a]", "as-uid: x", "as-user-extra: {a: [b]}"}) {
    EXPECT_THAT(Parse(WithUser(absl::StrCat("{as: jane, ", field, "}"))).status().message(),
                HasSubstr("is not supported"))
        << field;
  }
}

TEST(Kubeconfig, RefusesAnAuthorityThatWouldNotBeAsked) {
  const std::string text =
      "{current-context: a, contexts: [{name: a, context: {cluster: c}}], clusters: [{name: c, "
      "cluster: {server: 'https://h', certificate-authority-data: Q0E=, "
      "insecure-skip-tls-verify: true}}]}";
  EXPECT_THAT(Parse(text).status().message(), HasSubstr("insecure-skip-tls-verify"));
}

TEST(Kubeconfig, ResolvesFilesAgainstItsFolder) {
  TempFolder folder;
  folder.Write("cert.pem", "C");
  folder.Write("key.pem", "K");
  const auto config =
      Parse(WithUser("{client-certificate: cert.pem, client-key: key.pem}"), "", folder.path());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->tls.certificate_pem, "C");
  EXPECT_EQ(config->tls.key_pem, "K");
}

// As `KUBECONFIG=a:b kubectl` does.
TEST(Kubeconfig, SeveralAreMerged) {
  TempFolder one, two;
  const std::string first = one.Write("config",
                                      "contexts:\n- {name: here, context: {cluster: c, user: u}}\n"
                                      "users:\n- {name: u, user: {tokenFile: token}}\n");
  one.Write("token", "from-one");
  const std::string second = two.Write(
      "config",
      "current-context: here\ncontexts:\n- {name: here, context: {cluster: other, user: u}}\n"
      "clusters:\n- {name: c, cluster: {server: \"https://c\", certificate-authority: ca.pem}}\n"
      "users:\n- {name: u, user: {token: not-this}}\n");
  two.Write("ca.pem", "CA");
  const auto config = LoadKubeconfigs({"/nowhere/config", first, second}, "", Clock::Real());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://c");
  EXPECT_EQ(config->tls.ca_pem, "CA") << "relative to the file that it stands in";
  EXPECT_EQ(config->credentials->Get()->authorization, "Bearer from-one");
  EXPECT_THAT(LoadKubeconfigs({"/nowhere/config"}, "", Clock::Real()).status().message(),
              HasSubstr("/nowhere/config"));
}

TEST(Kubeconfig, TakesUserAndPassword) {
  EXPECT_EQ(Parse(WithUser("{username: u, password: p}"))->credentials->Get()->authorization,
            "Basic dTpw");
}

TEST(Kubeconfig, TokenFileIsReadAgainAfterARefusalAndAfterAMinute) {
  TempFolder folder;
  const std::string file = folder.Write("token", "first\n");
  ManualClock clock;
  auto credentials = TokenFile(file, &clock);
  EXPECT_EQ(credentials->Get()->authorization, "Bearer first");
  folder.Write("token", "second");
  EXPECT_EQ(credentials->Get()->authorization, "Bearer first");
  clock.Advance(std::chrono::seconds(61));
  EXPECT_EQ(credentials->Get()->authorization, "Bearer second");
  folder.Write("token", "third");
  credentials->Invalidate();
  EXPECT_EQ(credentials->Get()->authorization, "Bearer third");
}

TEST(ExecPlugin, GivesATokenUntilItExpires) {
  TempFolder folder;
  const std::string counter = folder.path() + "/count";
  folder.Write("count", "");
  const std::string plugin = folder.Write(
      "plugin",
      "#!/bin/sh\necho x >> " + counter +
          "\n"
          "case $KUBERNETES_EXEC_INFO in *ExecCredential*) ;; *) exit 3;; esac\n"
          "echo "
          "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
          "v1\",\"status\":"
          "{\"token\":\"'$WHO'-'$1'\",\"expirationTimestamp\":\"2023-11-14T23:00:00Z\"}}'\n",
      0700);
  ManualClock clock;  // 2023-11-14T22:13:20Z
  auto config = ParseKubeconfig(
      WithUser(
          "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: [arg], "
          "env: [{name: WHO, value: me}]}}"),
      folder.path(), "", &clock);
  ASSERT_TRUE(config.ok()) << config.status();
  const auto runs = [&] {
    std::ifstream file(counter);
    return std::count(std::istreambuf_iterator<char>(file), {}, 'x');
  };
  const auto first = config->credentials->Get();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->authorization, "Bearer me-arg");
  ASSERT_TRUE(config->credentials->Get().ok());
  EXPECT_EQ(runs(), 1);
  clock.Advance(std::chrono::minutes(50));
  ASSERT_TRUE(config->credentials->Get().ok());
  EXPECT_EQ(runs(), 2);
}

TEST(ExecPlugin, ItsOwnVariablesWinOverOurs) {
  TempFolder folder;
  folder.Write(
      "plugin",
      "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication."
      "k8s.io/v1\",\"status\":{\"token\":\"'$FLEET_WHO'\"}}'\n",
      0700);
  setenv("FLEET_WHO", "ours", 1);
  auto config = ParseKubeconfig(
      WithUser("{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, env: "
               "[{name: FLEET_WHO, value: theirs}]}}"),
      folder.path(), "", Clock::Real());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->credentials->Get()->authorization, "Bearer theirs");
  unsetenv("FLEET_WHO");
}

// A renewal of the lease has seconds; a plug-in that asks somebody for a second factor has a
// minute.
TEST(ExecPlugin, ThatIsSlowHoldsARequestUpUntilItsDeadlineOnly) {
  TempFolder folder;
  const std::string go = folder.path() + "/go";
  folder.Write("p",
               "#!/bin/sh\nwhile ! [ -e " + go +
                   " ]; do sleep 0.01; done\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":"
                   "\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"t\"}}'\n",
               0700);
  ExecPlugin plugin;
  plugin.api_version = "client.authentication.k8s.io/v1";
  plugin.command = folder.path() + "/p";
  auto credentials = ExecCredentials(plugin, Clock::Real());
  EXPECT_EQ(credentials->Get(http::After(std::chrono::milliseconds(50))).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  folder.Write("go", "");
  EXPECT_EQ(credentials->Get()->authorization, "Bearer t") << "of the run that was begun";
}

TEST(ExecPlugin, FailuresAreExplained) {
  TempFolder folder;
  const auto try_plugin = [&](const std::string& script) {
    folder.Write("p", "#!/bin/sh\n" + script, 0700);
    ExecPlugin plugin;
    plugin.api_version = "client.authentication.k8s.io/v1";
    plugin.command = folder.path() + "/p";
    return std::string(ExecCredentials(plugin, Clock::Real())->Get().status().message());
  };
  EXPECT_THAT(try_plugin("exit 4"), HasSubstr("exit code 4"));
  EXPECT_THAT(try_plugin("echo hello"), HasSubstr("did not print an ExecCredential"));
  EXPECT_THAT(
      try_plugin(
          "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
          "\"status\":{}}'"),
      HasSubstr("neither token nor certificate"));
  EXPECT_THAT(try_plugin("kill -9 $$"), HasSubstr("signal 9"));
  ExecPlugin absent;
  absent.command = "/nowhere/plugin";
  absent.install_hint = "install it with care";
  EXPECT_THAT(ExecCredentials(absent, Clock::Real())->Get().status().message(),
              HasSubstr("install it with care"));
}

TEST(ExecPlugin, OneThatDoesNotEndIsKilled) {
  TempFolder folder;
  for (const char* script : {"exec sleep 600", "exec >&-; exec sleep 600", "exec yes"}) {
    folder.Write("p", absl::StrCat("#!/bin/sh\n", script), 0700);
    ExecPlugin plugin;
    plugin.api_version = "client.authentication.k8s.io/v1";
    plugin.command = folder.path() + "/p";
    plugin.time_limit = std::chrono::milliseconds(300);
    const Status status = ExecCredentials(plugin, Clock::Real())->Get().status();
    EXPECT_THAT(status.message(), HasSubstr("ran longer than")) << script;
  }
}

TEST(InCluster, ReadsTheServiceAccount) {
  TempFolder folder;
  folder.Write("ca.crt", "CA");
  folder.Write("token", "T");
  folder.Write("namespace", "kubeflow");
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_TRUE(absl::IsNotFound(InClusterConfig(Clock::Real(), folder.path()).status()));
  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  const auto config = InClusterConfig(Clock::Real(), folder.path());
  unsetenv("KUBERNETES_SERVICE_HOST");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->namespace_, "kubeflow");
  EXPECT_EQ(config->credentials->Get()->authorization, "Bearer T");
}

}  // namespace
}  // namespace tensorfleet::k8s
