// What masters and workers keep, and when it goes.

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/queue_levels.h"
#include "runtime/session/testing/one_task.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

TEST(PreparedGraphs, GoFromTheWorkerWhenTheyAreTooMany) {
  Master::Options options;
  options.cached_graphs.graphs = 2;
  OneTask task(options);
  const auto client = task.Open(ChainOf(5));
  const Kept before = Kept::Now();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(RunStep(*client, {absl::StrCat("n", i, ":0")}), OkStatus());
  }
  Kept expected = before;
  expected.prepared_graphs += 2;
  expected.worker_graphs += 2;
  EXPECT_EQ(Kept::Settled(expected), expected);
}

TEST(PreparedGraphs, AFailedOneLeavesNoGraph) {
  OneTask task;
  const auto client = task.Open(ChainOf(1));
  Kept expected = Kept::Now();
  expected.prepared_graphs += 1;
  EXPECT_FALSE(RunStep(*client, {"none:0"}).ok());
  EXPECT_EQ(Kept::Settled(expected), expected);
}

TEST(Callables, TakeTheirGraphWithThem) {
  OneTask task;
  const auto client = task.Open(ChainOf(1));
  const Kept before = Kept::Now();
  tensorflow::CallableOptions options;
  options.add_feed("x:0");
  options.add_fetch("n0:0");
  const int64_t handle = client->MakeCallable(options).value();
  EXPECT_EQ(client->RunCallable(handle, {Tensor::Scalar(1.0f)}).status(), OkStatus());
  Kept made = before;
  made.callables += 1;
  made.worker_graphs += 1;
  EXPECT_EQ(Kept::Settled(made), made);
  EXPECT_EQ(client->ReleaseCallable(handle), OkStatus());
  EXPECT_EQ(Kept::Settled(before), before);
}

TEST(Callables, AFaultOfTheirsIsToldWhenTheyAreMade) {
  OneTask task;
  const auto client = task.Open(ChainOf(1));
  tensorflow::CallableOptions options;
  options.add_fetch("none:0");
  EXPECT_THAT(std::string(client->MakeCallable(options).status().message()), HasSubstr("none:0"));
}

TEST(PartialRuns, ShareOneGraphAndLeaveNothing) {
  OneTask task;
  const auto client = task.Open(ChainOf(2));
  const Kept before = Kept::Now();
  for (int i = 0; i < 5; ++i) {
    const std::string handle = client->PartialRunSetup({"x:0"}, {"n0:0", "n1:0"}, {}).value();
    RunStepArgs args;
    args.partial_run_handle = handle;
    args.fetches = {"n0:0"};
    args.feeds = {{"x:0", Tensor::Scalar(1.0f)}};
    RunStepResult result;
    EXPECT_EQ(client->Run(args, &result), OkStatus());
    EXPECT_EQ(Kept::Now().partial_runs, before.partial_runs + 1);
    args.feeds.clear();
    args.fetches = {"n1:0"};
    EXPECT_EQ(client->Run(args, &result), OkStatus());
  }
  Kept expected = before;
  expected.prepared_graphs += 1;
  expected.worker_graphs += 1;
  EXPECT_EQ(Kept::Settled(expected), expected);
}

TEST(PartialRuns, WithoutAFetchOrTargetAreRefused) {
  OneTask task;
  const auto client = task.Open(ChainOf(1));
  EXPECT_EQ(client->PartialRunSetup({"x:0"}, {}, {}).status(),
            InvalidArgument("Must specify at least one target to fetch or execute."));
}

TEST(Sessions, LeaveNothingWhenTheyAreClosed) {
  OneTask task;
  const Kept before = Kept::Now();
  {
    const auto client = task.Open(ChainOf(3));
    EXPECT_EQ(RunStep(*client, {"n0:0"}), OkStatus());
    EXPECT_EQ(client->PartialRunSetup({"x:0"}, {"n1:0"}, {}).status(), OkStatus());
    tensorflow::CallableOptions options;
    options.add_feed("x:0");
    options.add_fetch("n2:0");
    EXPECT_EQ(client->MakeCallable(options).status(), OkStatus());
  }
  EXPECT_EQ(Kept::Settled(before), before);
}

TEST(Sessions, OfClientsThatAreNotHeardOfAreClosed) {
  OneTask task;
  const Kept before = Kept::Now();
  const auto vanished = task.Open(ChainOf(1)), alive = task.Open(ChainOf(1));
  const auto start = std::chrono::steady_clock::now();
  task.master().CloseIdleSessions(start);
  task.master().CloseIdleSessions(start + std::chrono::hours(23));
  EXPECT_EQ(RunStep(*alive, {"n0:0"}), OkStatus());
  task.master().CloseIdleSessions(start + std::chrono::hours(25));
  EXPECT_EQ(RunStep(*alive, {"n0:0"}), OkStatus());
  EXPECT_EQ(RunStep(*vanished, {"n0:0"}).code(), absl::StatusCode::kAborted);
  Kept expected = before;
  expected.sessions += 1;
  expected.prepared_graphs += 1;
  expected.worker_sessions += 1;
  expected.worker_graphs += 1;
  EXPECT_EQ(Kept::Settled(expected), expected);
}

TEST(Sessions, WhoseStepStillRunsAreNotIdle) {
  OneTask task;
  const auto client = task.Open(GraphOf(R"(
    node { name: "queue" op: "FIFOQueueV2"
           attr { key: "component_types" value { list { type: DT_FLOAT } } } }
    node { name: "never" op: "QueueDequeueV2" input: "queue"
           attr { key: "component_types" value { list { type: DT_FLOAT } } } })"));
  Status ended;
  std::thread step([&] { ended = RunStep(*client, {"never:0"}, /*feed_x=*/false); });
  const auto is_waiting = [] {
    const std::vector<QueueLevel> queues = QueueLevels::All().Read();
    return !queues.empty() && queues[0].dequeues_waiting > 0;
  };
  while (!is_waiting()) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  task.master().CloseIdleSessions(start);
  task.master().CloseIdleSessions(start + std::chrono::hours(25));
  EXPECT_EQ(client->ListDevices().status(), OkStatus());
  EXPECT_EQ(client->Close(), OkStatus());
  step.join();
  EXPECT_EQ(ended.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tensorfleet
