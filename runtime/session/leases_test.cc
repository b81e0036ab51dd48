// What another process's master leaves behind at a worker, and when it goes.

#include "absl/strings/str_cat.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/session/testing/one_task.h"
#include "runtime/session/testing/stub_worker.h"

namespace tensorfleet {
namespace {

constexpr char kCpu0[] = "/job:local/replica:0/task:0/device:CPU:0";

// Remembers what it is asked for; the tensor never comes.
class Silent final : public StubWorker {
 public:
  void RecvTensor(const CallOptions& options, const RecvTensorArgs&, RecvTensorResult*,
                  Done done) override {
    ++asked;
    done(Unavailable("it never comes"));
  }
  int asked = 0;
};

class FakePeers final : public Peers {
 public:
  std::shared_ptr<WorkerInterface> Worker(const std::string& address) override {
    auto& worker = workers[address];
    if (worker == nullptr) worker = std::make_shared<Silent>();
    return worker;
  }
  void AskForSession(const CallOptions&, const std::string& address, const std::string& session,
                     WorkerInterface::Done done) override {
    asked.push_back(absl::StrCat(address, " for ", session));
    done(master);
  }
  std::map<std::string, std::shared_ptr<Silent>> workers;
  std::vector<std::string> asked;
  Status master;  // what it answers
};

Worker::Options WithPeers(FakePeers* peers) {
  Worker::Options options;
  options.peers = peers;
  options.cluster =
      ClusterSpec::Make({{"local", {{0, "here:1"}}}, {"chief", {{0, "there:1"}}}}).value();
  return options;
}

class LeasesTest : public ::testing::Test {
 protected:
  void OpenSession(const std::string& handle,
                   const std::string& master = "/job:chief/replica:0/task:0") {
    tensorflow::CreateWorkerSessionRequest request;
    request.set_session_handle(handle);
    request.set_master_task(master);
    request.set_master_incarnation(5);
    task_.worker().CreateWorkerSession({}, request,
                                       [](const Status& s) { EXPECT_EQ(s, OkStatus()); });
  }
  // Of a graph that receives "in" from `from` when that is not empty, and sends what it makes.
  std::string Register(const std::string& session, const std::string& from = "") {
    RegisterGraphArgs args;
    args.session_handle = session;
    args.create_worker_session_called = !session.empty();
    args.graph_def = GraphOf(absl::StrCat(R"(node { name: "one" op: "Const" device: ")", kCpu0, R"("
             attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
           node { name: "send" op: "_Send" input: "one" )",
                                          Transfer("out", kCpu0), R"(
             attr { key: "T" value { type: DT_FLOAT } } })"));
    if (!from.empty()) {
      args.graph_def.MergeFrom(
          GraphOf(absl::StrCat(R"(node { name: "recv" op: "_Recv" )", Transfer("in", from),
                               R"( attr { key: "tensor_type" value { type: DT_FLOAT } } })")));
    }
    std::string handle;
    task_.worker().RegisterGraph({}, std::move(args), [&](const StatusOr<std::string>& graph) {
      EXPECT_EQ(graph.status(), OkStatus());
      handle = graph.value_or("");
    });
    return handle;
  }
  Status Run(const std::string& session, const std::string& graph, int64_t step) {
    RunGraphArgs args;
    args.session_handle = session;
    args.create_worker_session_called = !session.empty();
    args.graph_handle = graph;
    args.step_id = step;
    RunGraphResult result;
    Status status;
    Notification over;
    task_.worker().RunGraph({}, &args, &result, [&](const Status& ended) {
      status = ended;
      over.Notify();
    });
    over.Wait();
    return status;
  }
  void EndLeasesAfter(std::chrono::nanoseconds since_start) {
    task_.worker().EndLeases(start_ + since_start);
  }

  FakePeers peers_;
  OneTask task_{{}, WithPeers(&peers_)};
  const Kept before_ = Kept::Now();
  const IdleClock::TimePoint start_ = std::chrono::steady_clock::now();

 private:
  static std::string Transfer(const std::string& name, const std::string& from) {
    return absl::StrCat(R"(device: ")", kCpu0, R"(" attr { key: "tensor_name" value { s: ")", name,
                        R"(" } }
        attr { key: "send_device" value { s: ")",
                        from, R"(" } }
        attr { key: "recv_device" value { s: ")",
                        kCpu0, R"(" } }
        attr { key: "send_device_incarnation" value { i: 1 } }
        attr { key: "client_terminated" value { b: false } })");
  }
};

TEST_F(LeasesTest, ASessionWhoseMasterSaysNothingGoesWithItsGraphsAndSteps) {
  OpenSession("s");
  ASSERT_EQ(Run("s", Register("s"), 1), OkStatus());  // leaves a tensor that nobody fetches
  EXPECT_EQ(Kept::Now().worker_steps, before_.worker_steps + 1);
  peers_.master = Unavailable("no route");
  for (const int minutes : {0, 5, 9}) EndLeasesAfter(std::chrono::minutes(minutes));
  EXPECT_EQ(Kept::Now().worker_sessions, before_.worker_sessions + 1);
  EndLeasesAfter(std::chrono::minutes(11));
  EXPECT_EQ(Kept::Settled(before_), before_);
  EXPECT_EQ(peers_.asked, (std::vector<std::string>{"there:1 for s", "there:1 for s"}));
}

TEST_F(LeasesTest, ASessionThatItsMasterDoesNotKnowAnyMoreGoes) {
  OpenSession("s");
  peers_.master = NotFound("Session s is not found.");
  for (const int minutes : {0, 5, 11}) EndLeasesAfter(std::chrono::minutes(minutes));
  EXPECT_EQ(Kept::Settled(before_), before_);
}

TEST_F(LeasesTest, ASessionThatItsMasterKnowsStaysHoweverIdleItIs) {
  OpenSession("s");
  const std::string graph = Register("s");
  for (int hours = 0; hours < 100; ++hours) {
    // A master that cannot tell is one that lives.
    peers_.master = hours % 2 == 0 ? OkStatus() : Unimplemented("no MasterService here");
    EndLeasesAfter(std::chrono::minutes(9 * hours));
  }
  EXPECT_EQ(Run("s", graph, 1), OkStatus());
}

TEST_F(LeasesTest, ASessionThatRunsStepsStaysThoughItsMasterCannotBeReached) {
  OpenSession("s");
  const std::string graph = Register("s");
  peers_.master = Unavailable("no route");
  for (int i = 0; i < 10; ++i) {
    EndLeasesAfter(std::chrono::minutes(9 * i));
    EXPECT_EQ(Run("s", graph, 1 + i), OkStatus());
  }
}

TEST_F(LeasesTest, WhatHasNoMasterToAskGoesWhenItWasIdleForLong) {
  OpenSession("nobody's", "");
  const std::string graph = Register("");
  ASSERT_EQ(Run("", graph, 1), OkStatus());
  for (const int hours : {0, 12, 23}) EndLeasesAfter(std::chrono::hours(hours));
  EXPECT_EQ(Run("", graph, 2), OkStatus());  // so the graph is in use, step 1 is not
  EndLeasesAfter(std::chrono::hours(25));
  Kept expected = before_;
  expected.worker_graphs += 1;
  expected.worker_steps += 1;
  EXPECT_EQ(Kept::Settled(expected), expected);
  EndLeasesAfter(std::chrono::hours(50));
  EXPECT_EQ(Kept::Settled(before_), before_);
  EXPECT_THAT(peers_.asked, ::testing::IsEmpty());
}

TEST_F(LeasesTest, AMasterThatHasRestartedTakesItsOldStepsAway) {
  OpenSession("old");
  ASSERT_EQ(Run("old", Register("old"), 1), OkStatus());
  tensorflow::CreateWorkerSessionRequest request;
  request.set_session_handle("new");
  request.set_master_task("/job:chief/replica:0/task:0");
  request.set_master_incarnation(6);
  task_.worker().CreateWorkerSession({}, request, [](const Status&) {});
  Kept expected = before_;
  expected.worker_sessions += 1;
  EXPECT_EQ(Kept::Settled(expected), expected);
}

// Steps belong to sessions: the peers of one are not those of another.

TEST_F(LeasesTest, AStepIsOfOneSessionOnly) {
  OpenSession("a");
  OpenSession("b");
  ASSERT_EQ(Run("a", Register("a"), 7), OkStatus());
  const Status status = Run("b", Register("b"), 7);
  EXPECT_EQ(status, InvalidArgument("step 7 is one of the session 'a', not of 'b'"));
}

TEST_F(LeasesTest, ASessionOfATaskWithAHostileNameIsRefused) {
  for (const char* job : {"", "x/replica:0/task:0/device:CPU:1", "a b", "x/task:1"}) {
    tensorflow::CreateWorkerSessionRequest request;
    request.set_session_handle("s");
    auto* server = request.mutable_server_def();
    server->set_job_name(job);
    server->mutable_cluster()->add_job()->set_name("local");
    (*server->mutable_cluster()->mutable_job(0)->mutable_tasks())[0] = "here:1";
    Status status;
    task_.worker().CreateWorkerSession({}, request, [&](const Status& s) { status = s; });
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << job << ": " << status;
  }
}

TEST_F(LeasesTest, AStepOfADeletedSessionFetchesFromItsOwnPeers) {
  const auto open = [&](const std::string& handle, const std::string& peer) {
    tensorflow::CreateWorkerSessionRequest request;
    request.set_session_handle(handle);
    auto* server = request.mutable_server_def();
    server->set_job_name("local");
    (*server->mutable_cluster()->add_job()->mutable_tasks())[0] = "here:1";
    server->mutable_cluster()->mutable_job(0)->set_name("local");
    auto* job = server->mutable_cluster()->add_job();
    job->set_name("peer");
    (*job->mutable_tasks())[0] = peer;
    task_.worker().CreateWorkerSession({}, request,
                                       [](const Status& s) { EXPECT_EQ(s, OkStatus()); });
  };
  open("a", "peer-of-a:1");
  ASSERT_EQ(Run("a", Register("a"), 7), OkStatus());
  task_.worker().DeleteWorkerSession({}, "a", [](const Status&) {});
  open("b", "peer-of-b:1");
  EXPECT_FALSE(Run("b", Register("b", "/job:peer/replica:0/task:0/device:CPU:0"), 7).ok());
  EXPECT_EQ(peers_.workers["peer-of-b:1"]->asked, 1);
  EXPECT_EQ(peers_.workers["peer-of-a:1"]->asked, 0);
}

}  // namespace
}  // namespace tensorfleet
