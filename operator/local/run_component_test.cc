// tensorfleet-run by the rules of the cluster.
#include <sys/resource.h>

#include "operator/local/run_fixture.h"

namespace tensorfleet::local {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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

// Further off than a clock can count to, it must not make the program look again and again.
TEST_F(LocalRun, ADeadlineInTheFarFutureCostsNothing) {
  WriteJob({{"Worker", 1, "sleep 1"}}, "  runPolicy: {activeDeadlineSeconds: 99999999999}\n");
  rusage before{}, after{};
  getrusage(RUSAGE_CHILDREN, &before);
  EXPECT_EQ(Run(), 0) << Err();
  getrusage(RUSAGE_CHILDREN, &after);
  const auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec * 1e-6; };
  EXPECT_LT(seconds(after.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_utime) -
                seconds(before.ru_stime),
            0.6);
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

TEST_F(LocalRun, StartsParameterServersFirstWhenAsked) {
  WriteJob(
      {{"PS", 1, "echo ps >> $OUT/order; sleep 60"}, {"Worker", 1, "echo worker >> $OUT/order"}},
      "  startOrder: PSFirst\n");
  EXPECT_EQ(Run(), 0) << Err();
  EXPECT_THAT(ReadAll(folder_ / "order"), Not(HasSubstr("worker\nps")));
}

}  // namespace
}  // namespace tensorfleet::local
