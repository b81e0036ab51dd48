// Runs client-go style credential plug-ins. The program gets KUBERNETES_EXEC_INFO and prints an
// ExecCredential; what it writes to standard error goes through to ours.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "absl/time/time.h"
#include "operator/k8s/connect/credentials.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::k8s {
namespace {

constexpr size_t kMaxOutput = 1 << 20;

using Time = std::chrono::steady_clock::time_point;

// The environment of `plugin`: ours, what its configuration adds, and what we tell it.
std::vector<std::string> EnvironmentOf(const ExecPlugin& plugin) {
  std::vector<std::string> env;
  for (char** e = environ; *e != nullptr; ++e) {
    const absl::string_view variable = *e;
    const absl::string_view name = variable.substr(0, variable.find('='));
    // The first of two of one name is what a program finds.
    const bool is_set = name == "KUBERNETES_EXEC_INFO" ||
                        std::any_of(plugin.env.begin(), plugin.env.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (!is_set) env.emplace_back(*e);
  }
  for (const auto& [name, value] : plugin.env) env.push_back(name + "=" + value);
  nlohmann::json info = {{"apiVersion", plugin.api_version},
                         {"kind", "ExecCredential"},
                         {"spec", {{"interactive", false}}}};
  if (!plugin.cluster_info_json.empty()) {
    info["spec"]["cluster"] = nlohmann::json::parse(plugin.cluster_info_json, nullptr, false);
  }
  env.push_back("KUBERNETES_EXEC_INFO=" + info.dump());
  return env;
}

// Starts `plugin` with `output` as its standard output.
StatusOr<pid_t> Spawn(const ExecPlugin& plugin, int output) {
  std::vector<std::string> env = EnvironmentOf(plugin);
  std::vector<char*> argv{const_cast<char*>(plugin.command.c_str())};
  for (const std::string& arg : plugin.args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (std::string& e : env) envp.push_back(e.data());
  envp.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  // Signals that we block or ignore are the plug-in's to handle.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int rc =
      posix_spawnp(&pid, plugin.command.c_str(), &files, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (rc == 0) return pid;
  return Unauthenticated("credential plug-in ", plugin.command, " cannot be run: ", strerror(rc),
                         plugin.install_hint.empty() ? "" : ". ", plugin.install_hint);
}

// Reads `from` to its end; false when that takes too long or is too much.
bool ReadOutput(int from, Time end, std::string* output) {
  while (output->size() <= kMaxOutput) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd entry{from, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&entry, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char buffer[4096];
    const ssize_t got = read(from, buffer, sizeof(buffer));
    if (got <= 0) return got == 0;
    output->append(buffer, got);
  }
  return false;
}

// Waits for the program, which may run on though it has closed its output; false when it was still
// there at `end`, and has been killed.
bool WaitFor(pid_t pid, Time end, int* status) {
  while (true) {
    const pid_t ended = waitpid(pid, status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return true;
    if (std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(pid, SIGKILL);
  while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
  }
  return false;
}

// Standard output of `plugin`, or why there is none.
StatusOr<std::string> Run(const ExecPlugin& plugin) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return Unavailable("pipe: ", strerror(errno));
  const StatusOr<pid_t> pid = Spawn(plugin, fds[1]);
  close(fds[1]);
  const Time end = std::chrono::steady_clock::now() + plugin.time_limit;
  std::string output;
  const bool complete = pid.ok() && ReadOutput(fds[0], end, &output);
  close(fds[0]);
  TFLEET_RETURN_IF_ERROR(pid.status());
  int status = 0;
  // One that has not come to an end of its output is not waited for.
  const bool ended = WaitFor(*pid, complete ? end : Time::min(), &status);
  if (!complete || !ended) {
    return Unauthenticated("credential plug-in ", plugin.command, " ran longer than ",
                           plugin.time_limit.count() / 1000, " s or said too much");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Unauthenticated("credential plug-in ", plugin.command, " failed with ",
                           WIFEXITED(status) ? absl::StrCat("exit code ", WEXITSTATUS(status))
                                             : absl::StrCat("signal ", WTERMSIG(status)));
  }
  return output;
}

class Exec final : public Credentials {
 public:
  Exec(ExecPlugin plugin, const Clock* clock) : plugin_(std::move(plugin)), clock_(clock) {}

  ~Exec() override {
    if (runner_.joinable()) runner_.join();
  }

  StatusOr<Credential> Get(http::Deadline deadline) override {
    MutexLock lock(&mu_);
    const absl::Time now = absl::FromUnixNanos(clock_->NowUnixNanos());
    if (has_ && now + absl::Seconds(30) < expires_) return credential_;
    // Concurrent requests wait for the one run instead of starting more.
    if (!running_) {
      if (runner_.joinable()) runner_.join();  // it has ended
      running_ = true;
      runner_ = std::thread([this] {
        const StatusOr<std::string> output = Run(plugin_);
        MutexLock done(&mu_);
        outcome_ = output.ok() ? Parse(*output) : output.status();
        has_ = outcome_.ok();
        running_ = false;
        ++runs_;
        changed_.NotifyAll();
      });
    }
    const int64_t before = runs_;
    while (runs_ == before) {
      if (!changed_.WaitUntil(&mu_, std::min(deadline, http::After(std::chrono::minutes(5)))) &&
          std::chrono::steady_clock::now() >= deadline) {
        return DeadlineExceeded("credential plug-in ", plugin_.command, " has not answered yet");
      }
    }
    TFLEET_RETURN_IF_ERROR(outcome_);
    return credential_;
  }

  void Invalidate() override {
    MutexLock lock(&mu_);
    has_ = false;
  }

 private:
  Status Parse(const std::string& output) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto json = nlohmann::json::parse(output, nullptr, false);
    const auto text = [](const nlohmann::json& object, const char* key) -> std::string {
      const auto it = object.find(key);
      return it != object.end() && it->is_string() ? it->get<std::string>() : "";
    };
    if (!json.is_object() || text(json, "kind") != "ExecCredential" || !json.contains("status") ||
        !json["status"].is_object()) {
      return Unauthenticated("credential plug-in ", plugin_.command,
                             " did not print an ExecCredential with a status");
    }
    const std::string version = text(json, "apiVersion");
    if (version != plugin_.api_version) {
      return Unauthenticated("credential plug-in ", plugin_.command, " answered in ", version,
                             ", expected ", plugin_.api_version);
    }
    const nlohmann::json& status = json["status"];
    const std::string token = text(status, "token");
    credential_.authorization = token.empty() ? "" : "Bearer " + token;
    credential_.certificate_pem = text(status, "clientCertificateData");
    credential_.key_pem = text(status, "clientKeyData");
    if (token.empty() && credential_.certificate_pem.empty()) {
      return Unauthenticated("credential plug-in ", plugin_.command,
                             " gave neither token nor certificate");
    }
    expires_ = absl::InfiniteFuture();
    std::string error;
    const std::string expiry = text(status, "expirationTimestamp");
    if (!expiry.empty() && !absl::ParseTime(absl::RFC3339_full, expiry, &expires_, &error)) {
      return Unauthenticated("credential plug-in ", plugin_.command, ": expirationTimestamp \"",
                             expiry, "\": ", error);
    }
    return OkStatus();
  }

  const ExecPlugin plugin_;
  const Clock* const clock_;
  Mutex mu_;
  CondVar changed_;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  int64_t runs_ ABSL_GUARDED_BY(mu_) = 0;
  Status outcome_ ABSL_GUARDED_BY(mu_);  // of the last run
  std::thread runner_ ABSL_GUARDED_BY(mu_);
  bool has_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time expires_ ABSL_GUARDED_BY(mu_);
  Credential credential_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::shared_ptr<Credentials> ExecCredentials(ExecPlugin plugin, const Clock* clock) {
  return std::make_shared<Exec>(std::move(plugin), clock);
}

}  // namespace tensorfleet::k8s
