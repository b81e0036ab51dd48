// For tests of tensorfleet-run with real processes: jobs of /bin/sh.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tensorfleet::local {

namespace fs = std::filesystem;

inline std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Not even waiting for its parent to take notice of its end.
inline bool IsRunning(int pid) {
  const std::string stat = ReadAll(absl::StrCat("/proc/", pid, "/stat"));
  return !stat.empty() && stat.find(") Z ") == std::string::npos;
}

struct Replicas {
  std::string type;
  int count;
  std::string script;       // of /bin/sh
  std::string more = "";    // fields of the replica spec, YAML
  std::string in_pod = "";  // fields of the pod's spec
  std::string in_container = "";
};

class LocalRun : public ::testing::Test {
 protected:
  LocalRun()
      : folder_(fs::path(::testing::TempDir()) /
                absl::StrCat("run-", getpid(), "-",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~LocalRun() override {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (terminal_ >= 0) close(terminal_);
    if (!HasFailure()) fs::remove_all(folder_);
  }

  // Scripts go into files: no quoting in YAML.
  void WriteJob(const std::vector<Replicas>& all, const std::string& spec = "") {
    std::string yaml =
        absl::StrCat("apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: j}\nspec:\n", spec,
                     "  tfReplicaSpecs:\n");
    for (const Replicas& replicas : all) {
      const fs::path script = folder_ / (replicas.type + ".sh");
      std::ofstream(script) << absl::StrReplaceAll(replicas.script, {{"$OUT", folder_.string()}});
      absl::StrAppend(
          &yaml, "    ", replicas.type, ":\n      replicas: ", replicas.count, "\n", replicas.more,
          "      template:\n        spec:\n          terminationGracePeriodSeconds: 1\n",
          replicas.in_pod,
          "          containers:\n          - name: tensorflow\n            image: x\n",
          replicas.in_container);
      if (!replicas.script.empty()) {
        absl::StrAppend(&yaml, "            command: [/bin/sh, ", script.string(), "]\n");
      }
    }
    std::ofstream(folder_ / "job.yaml") << yaml;
  }

  void Start(const std::vector<std::string>& more = {}) {
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      (void)!freopen((folder_ / "stdout").c_str(), "w", stdout);
      (void)!freopen((folder_ / "stderr").c_str(), "w", stderr);
      Become(more);
    }
  }

  // The same as somebody sees it who sits in front of it.
  void StartOnTerminal(const std::vector<std::string>& more = {}) {
    winsize size{};
    size.ws_row = 25;
    size.ws_col = 150;
    std::fflush(nullptr);
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) Become(more);
  }

  // What the terminal has shown so far, escape sequences and all.
  const std::string& Screen() {
    char buffer[4096];
    pollfd wanted{terminal_, POLLIN, 0};
    while (poll(&wanted, 1, 0) > 0) {
      const ssize_t got = read(terminal_, buffer, sizeof(buffer));
      if (got <= 0) break;  // the other end is closed
      screen_.append(buffer, static_cast<size_t>(got));
    }
    return screen_;
  }

  void Touch(const char* name) { std::ofstream(folder_ / name) << "\n"; }

  // The exit status, or -1 when the program does not end in time.
  int Finish(std::chrono::seconds limit = std::chrono::seconds(30)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end) return -1;
      if (terminal_ >= 0) Screen();  // a full terminal would hold it up
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  int Run(const std::vector<std::string>& more = {}) {
    Start(more);
    return Finish();
  }

  bool Eventually(const std::function<bool()>& done) {
    for (int i = 0; i < 2000 && !done(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return done();
  }

  std::string Out() { return ReadAll(folder_ / "stdout"); }
  std::string Err() { return ReadAll(folder_ / "stderr"); }
  std::string Log(const std::string& replica) {
    return ReadAll(folder_ / "run" / "logs" / (replica + ".log"));
  }

  // Puts a program of that name before all others in PATH.
  void WriteProgram(const std::string& name, const std::string& script) {
    fs::create_directories(folder_ / "bin");
    const fs::path path = folder_ / "bin" / name;
    std::ofstream(path) << absl::StrReplaceAll(script, {{"$OUT", folder_.string()}});
    fs::permissions(path, fs::perms::owner_all);
  }

  const fs::path folder_;
  pid_t pid_ = 0;
  int terminal_ = -1;
  std::string screen_;

 private:
  [[noreturn]] void Become(const std::vector<std::string>& more) {
    std::vector<std::string> args = {TENSORFLEET_RUN, (folder_ / "job.yaml").string(), "--dir",
                                     (folder_ / "run").string()};
    args.insert(args.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    setenv("PATH", absl::StrCat((folder_ / "bin").string(), ":", getenv("PATH")).c_str(), 1);
    unsetenv("NO_COLOR");
    execv(argv[0], argv.data());
    _exit(99);
  }
};

}  // namespace tensorfleet::local
