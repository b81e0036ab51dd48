// tensorfleet-run with real processes: jobs of /bin/sh.
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
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tensorfleet::local {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Not even waiting for its parent to take notice of its end.
bool IsRunning(int pid) {
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

TEST_F(LocalRun, SucceedsWithTheJob) {
  WriteJob({{"Worker", 2, "echo hello from $HOSTNAME"}}, "  successPolicy: AllWorkers\n");
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_THAT(Out(), AllOf(HasSubstr("worker-0 | hello from j-worker-0\n"),
                           HasSubstr("worker-1 | hello from j-worker-1\n")));
  EXPECT_EQ(Log("worker-1"), "hello from j-worker-1\n");
  EXPECT_THAT(Err(), HasSubstr("Succeeded: TFJob default/j successfully completed."));
}

TEST_F(LocalRun, FailsWithTheJob) {
  WriteJob({{"Worker", 2, "[ $HOSTNAME = j-worker-0 ] && sleep 60; exit 3"}});
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(Err(),
              HasSubstr("Failed: TFJob default/j has failed because 1 Worker replica(s) failed."));
}

TEST_F(LocalRun, TellsReplicasOfEachOther) {
  WriteJob({{"PS", 1, "echo $TF_CONFIG; sleep 60"}, {"Worker", 2, "sleep 0.3; echo $TF_CONFIG"}},
           "  successPolicy: AllWorkers\n");
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_THAT(Log("worker-1"), HasSubstr(R"("task":{"type":"worker","index":1})"));
  // The same cluster for all, at ports of this machine.
  const auto cluster = [&](const std::string& replica) {
    const std::string log = Log(replica);
    return log.substr(0, log.find("\"task\""));
  };
  EXPECT_THAT(cluster("ps-0"), HasSubstr(R"("ps":["127.0.0.1:)"));
  EXPECT_EQ(cluster("ps-0"), cluster("worker-0"));
  EXPECT_EQ(cluster("ps-0"), cluster("worker-1"));
}

TEST_F(LocalRun, EndsParameterServersWithTheJob) {
  WriteJob(
      {{"PS", 1, "trap 'echo bye; exit' TERM; echo up > $OUT/up; while true; do sleep 0.05; done"},
       {"Worker", 1, "while [ ! -e $OUT/up ]; do sleep 0.05; done"}});
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_THAT(Log("ps-0"), HasSubstr("bye\n"));
}

TEST_F(LocalRun, KillsWhatDoesNotEndInItsGracePeriod) {
  WriteJob({{"PS", 1, "trap '' TERM; echo up > $OUT/up; while true; do sleep 0.05; done"},
            {"Worker", 1, "while [ ! -e $OUT/up ]; do sleep 0.05; done"}});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(LocalRun, RestartsAFailedContainerInPlace) {
  WriteJob({{"Worker", 1, "echo run >> $OUT/runs; [ $(wc -l < $OUT/runs) -ge 3 ]",
             "      restartPolicy: OnFailure\n"}});
  EXPECT_EQ(Run({"--restart-delay", "0.1"}), 0) << Err();
  EXPECT_EQ(ReadAll(folder_ / "runs"), "run\nrun\nrun\n");
  EXPECT_THAT(Log("worker-0"),
              AllOf(HasSubstr("--- restart 1 ---"), HasSubstr("--- restart 2 ---")));
}

TEST_F(LocalRun, ReplacesAReplicaByItsExitCode) {
  WriteJob({{"Worker", 1, "echo run >> $OUT/runs; [ $(wc -l < $OUT/runs) -ge 2 ] || exit 137",
             "      restartPolicy: ExitCode\n"}});
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_THAT(Err(),
              HasSubstr("Restarting: job j is restarting because Worker replica(s) failed."));
}

TEST_F(LocalRun, FailsByAPermanentExitCode) {
  WriteJob({{"Worker", 1, "exit 2", "      restartPolicy: ExitCode\n"}});
  EXPECT_EQ(Run(), 1);
}

TEST_F(LocalRun, KeepsTheBackoffLimit) {
  WriteJob({{"Worker", 1, "exit 1", "      restartPolicy: OnFailure\n"}},
           "  runPolicy: {backoffLimit: 2}\n");
  EXPECT_EQ(Run({"--restart-delay", "0.05"}), 1);
  EXPECT_THAT(Err(),
              HasSubstr("Job j has failed because it has reached the specified backoff limit"));
}

TEST_F(LocalRun, KeepsTheDeadline) {
  WriteJob({{"Worker", 1, "sleep 60"}}, "  runPolicy: {activeDeadlineSeconds: 1}\n");
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(Err(), HasSubstr("was active longer than specified deadline"));
}

TEST_F(LocalRun, RestartsAllReplicasTogetherWhenAsked) {
  WriteJob({{"Worker", 2,
             "echo $HOSTNAME >> $OUT/runs; [ $(grep -c $HOSTNAME $OUT/runs) -ge 2 ] && exit 0\n"
             "[ $HOSTNAME = j-worker-1 ] && sleep 0.3 && exit 137; sleep 60",
             "      restartPolicy: ExitCode\n"}},
           "  restartScope: Job\n  successPolicy: AllWorkers\n");
  EXPECT_EQ(Run(), 0) << Err() << Out();
  const std::string runs = ReadAll(folder_ / "runs");
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '\n'), 4);
}

TEST_F(LocalRun, RunsInitContainersFirst) {
  WriteJob(
      {{"Worker", 1, "cat $OUT/made", "",
        absl::StrCat("          initContainers:\n          - name: init\n            image: x\n"
                     "            command: [sh, -c, 'sleep 0.2; echo done > ",
                     folder_.string(), "/made']\n")}});
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_EQ(Log("worker-0"), "done\n");
}

TEST_F(LocalRun, GivesVolumesAsFolders) {
  WriteJob({{"Worker", 1, "cat $1; echo new > $DIR/out", "",
             "          volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]\n",
             "            volumeMounts: [{name: v, mountPath: /data}]\n"
             "            args: [/data/in]\n"
             "            env: [{name: DIR, value: /data}]\n"}});
  fs::create_directories(folder_ / "d");
  std::ofstream(folder_ / "d" / "in") << "old\n";
  EXPECT_EQ(Run({"--volume", "data=" + (folder_ / "d").string()}), 0) << Err();
  EXPECT_EQ(Log("worker-0"), "old\n");
  EXPECT_EQ(ReadAll(folder_ / "d" / "out"), "new\n");
}

TEST_F(LocalRun, ChangesFieldsBySet) {
  WriteJob({{"Worker", 1, "echo up"}}, "  successPolicy: AllWorkers\n");
  EXPECT_EQ(Run({"--set", "tfReplicaSpecs.Worker.replicas=3"}), 0) << Err();
  EXPECT_EQ(Log("worker-2"), "up\n");
}

TEST_F(LocalRun, RefusesABadFile) {
  WriteJob({{"Worker", -1, "true"}});
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(Err(),
              HasSubstr("job.yaml:7: spec.tfReplicaSpecs[Worker].replicas: Invalid value: -1"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(LocalRun, SaysWhatCannotBeStarted) {
  WriteJob({{"Worker", 1, "", "", "", "            command: [no-such-program]\n"}});
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(Log("worker-0"),
              HasSubstr("cannot start: no-such-program: No such file or directory"));
}

TEST_F(LocalRun, StopsEverythingOnCtrlC) {
  WriteJob({{"Worker", 3, "echo $$ >> $OUT/pids; sleep 60 & echo $! >> $OUT/pids; wait"}});
  Start();
  ASSERT_TRUE(Eventually([&] {
    const std::string pids = ReadAll(folder_ / "pids");
    return std::count(pids.begin(), pids.end(), '\n') == 6;
  }));
  kill(pid_, SIGINT);
  EXPECT_EQ(Finish(), 128 + SIGINT);
  std::istringstream pids(ReadAll(folder_ / "pids"));
  for (int pid; pids >> pid;) {
    EXPECT_TRUE(Eventually([&] { return !IsRunning(pid); })) << pid << " still runs";
  }
}

TEST_F(LocalRun, StopsAtOnceTheSecondTime) {
  WriteJob({{"Worker", 1, "trap '' TERM; echo > $OUT/up; while true; do sleep 0.05; done"}});
  std::string text = ReadAll(folder_ / "job.yaml");
  std::ofstream(folder_ / "job.yaml") << absl::StrReplaceAll(
      text, {{"terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 60"}});
  Start();
  ASSERT_TRUE(Eventually([&] { return fs::exists(folder_ / "up"); }));
  kill(pid_, SIGTERM);
  ASSERT_TRUE(Eventually([&] { return Err().find("once more") != std::string::npos; }));
  kill(pid_, SIGTERM);
  EXPECT_EQ(Finish(std::chrono::seconds(20)), 128 + SIGTERM);
}

TEST_F(LocalRun, LeavesNothingBehindWhenKilled) {
  WriteJob({{"Worker", 1, "echo $$ > $OUT/pid; sleep 60; true"}});
  Start();
  ASSERT_TRUE(Eventually([&] { return !ReadAll(folder_ / "pid").empty(); }));
  kill(pid_, SIGKILL);
  EXPECT_EQ(Finish(), -SIGKILL);
  const int child = std::stoi(ReadAll(folder_ / "pid"));
  EXPECT_TRUE(Eventually([&] { return !IsRunning(child); }));
}

TEST_F(LocalRun, RefusesAFolderInUse) {
  WriteJob({{"Worker", 1, "echo > $OUT/up; sleep 60"}});
  Start();
  ASSERT_TRUE(Eventually([&] { return fs::exists(folder_ / "up"); }));
  const pid_t first = pid_;
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(Err(), HasSubstr("is in use by another run"));
  pid_ = first;
  kill(pid_, SIGINT);
  EXPECT_EQ(Finish(), 128 + SIGINT);
}

// --- what is shown ---

TEST_F(LocalRun, WritesPlainLinesWhereThereIsNoTerminal) {
  WriteJob({{"Worker", 1, "echo step 10 loss 0.5"}});
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_EQ(Out(), "worker-0 | step 10 loss 0.5\n");
  EXPECT_THAT(Out() + Err(), AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
  EXPECT_THAT(Err(), HasSubstr("images are not used: commands run on this machine"));
}

constexpr char kLearns[] =
    "echo step 10 loss 0.5; sleep 1.1; echo step 40 loss 0.25\n"
    "while [ ! -e $OUT/end ]; do sleep 0.05; done";

TEST_F(LocalRun, ShowsAStatusLineOnATerminal) {
  WriteJob({{"PS", 1, "sleep 60"}, {"Worker", 1, kLearns}});
  StartOnTerminal();
  // Drawn again below each line, in reverse, and taken away before the next.
  constexpr char kStatus[] =
      "\x1b\\[7m j  Running  ps 1/1  worker 1/1  step 40  loss 0\\.25  [0-9.]+ steps/s  0:0[0-9] "
      "\x1b\\[0m";
  EXPECT_TRUE(Eventually([&] { return ::testing::Matches(ContainsRegex(kStatus))(Screen()); }))
      << Screen();
  Touch("end");
  EXPECT_EQ(Finish(), 0);
  EXPECT_THAT(Screen(), HasSubstr("\r\x1b[K"));
  EXPECT_GT(Screen().rfind("\r\x1b[K"), Screen().rfind("\x1b[7m")) << "it is gone at the end";
}

TEST_F(LocalRun, ColoursReplicasOnATerminalEachInItsOwn) {
  WriteJob({{"Worker", 2, "echo hello"}}, "  successPolicy: AllWorkers\n");
  StartOnTerminal({"--plain"});
  EXPECT_EQ(Finish(), 0);
  // In the order in which they came; "--plain" takes the status line away, not the colours.
  EXPECT_THAT(Screen(), AllOf(ContainsRegex("\x1b\\[36mworker-[01] \\|\x1b\\[0m hello"),
                              ContainsRegex("\x1b\\[33mworker-[01] \\|\x1b\\[0m hello"),
                              Not(HasSubstr("\x1b[7m"))));
}

TEST_F(LocalRun, StopsByCtrlCOnATerminal) {
  WriteJob({{"Worker", 1, "echo $$ > $OUT/pid; echo > $OUT/up; sleep 60"}});
  StartOnTerminal();
  ASSERT_TRUE(Eventually([&] { return fs::exists(folder_ / "up"); }));
  ASSERT_EQ(write(terminal_, "\x03", 1), 1);
  EXPECT_EQ(Finish(), 128 + SIGINT);
  const int child = std::stoi(ReadAll(folder_ / "pid"));
  EXPECT_TRUE(Eventually([&] { return !IsRunning(child); }));
}

// --- podman ---

// Stands for podman: what runs is no child of this client, and is ended by a signal that the client
// passes on, or by `podman kill`.
constexpr char kPodman[] = R"sh(#!/bin/sh
echo "$@" >> $OUT/podman
verb=$1
shift
if [ "$verb" = kill ]; then exec kill -9 "$(cat "$OUT/container-$1")"; fi
while [ "${1#-}" != "$1" ]; do
  case $1 in
    --name) name=$2; shift ;;
    --env) export "$2"; shift ;;
    --entrypoint) entry=$(echo "$2" | tr -d '[]"' | tr , ' '); shift ;;
    --volume | --workdir) shift ;;
  esac
  shift
done
shift
setsid $entry "$@" &
echo $! > "$OUT/container-$name"
trap 'kill -TERM $!' TERM
wait $!
code=$?
if kill -0 $! 2>/dev/null; then wait $!; code=$?; fi
exit $code
)sh";

TEST_F(LocalRun, RunsImagesByPodmanWhenAsked) {
  WriteProgram("podman", kPodman);
  WriteJob({{"Worker", 2, "echo $TF_CONFIG; exit 0"}}, "  successPolicy: AllWorkers\n");
  EXPECT_EQ(Run({"--podman"}), 0) << Err() << Out();
  EXPECT_THAT(Log("worker-1"),
              AllOf(HasSubstr("127.0.0.1:"), HasSubstr(R"("task":{"type":"worker","index":1})")));
  const std::string calls = ReadAll(folder_ / "podman");
  EXPECT_THAT(calls, ContainsRegex("run --rm --replace --name j-worker-1-tensorflow-[0-9a-f]+ "
                                   "--network=host"));
  EXPECT_THAT(calls, HasSubstr(" x\n")) << "the image, and nothing after it: the job has no args";
  EXPECT_THAT(Err(), Not(HasSubstr("images are not used")));
}

TEST_F(LocalRun, TakesTheExitCodeOfPodmansContainer) {
  WriteProgram("podman", kPodman);
  WriteJob({{"Worker", 1, "echo run >> $OUT/runs; [ $(wc -l < $OUT/runs) -ge 2 ] || exit 137",
             "      restartPolicy: ExitCode\n"}});
  EXPECT_EQ(Run({"--podman"}), 0) << Err() << Out();
  EXPECT_EQ(ReadAll(folder_ / "runs"), "run\nrun\n");
}

TEST_F(LocalRun, KillsPodmansContainersThatDoNotEndInTheirGracePeriod) {
  WriteProgram("podman", kPodman);
  WriteJob({{"PS", 1, "trap '' TERM; echo up > $OUT/up; while true; do sleep 0.05; done"},
            {"Worker", 1, "while [ ! -e $OUT/up ]; do sleep 0.05; done"}});
  EXPECT_EQ(Run({"--podman"}), 0) << Err();
  ASSERT_TRUE(Eventually([&] {
    return ReadAll(folder_ / "podman").find("kill j-ps-0-tensorflow-") != std::string::npos;
  }));
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename().string().find("container-j-ps-0") == std::string::npos) continue;
    const int container = std::stoi(ReadAll(entry.path()));
    EXPECT_TRUE(Eventually([&] { return !IsRunning(container); }));
  }
}  // namespace

TEST_F(LocalRun, StartsParameterServersFirstWhenAsked) {
  WriteJob(
      {{"PS", 1, "echo ps >> $OUT/order; sleep 60"}, {"Worker", 1, "echo worker >> $OUT/order"}},
      "  startOrder: PSFirst\n");
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_THAT(ReadAll(folder_ / "order"), Not(HasSubstr("worker\nps")));
}

}  // namespace
}  // namespace tensorfleet::local
