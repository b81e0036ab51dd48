#include "runtime/rpc/server.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <grpc/grpc.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "proto/master.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/kernels/cpu/core.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/ops/all.h"
#include "runtime/rpc/peers/channels.h"
#include "runtime/rpc/peers/client_call.h"
#include "runtime/rpc/poll_set.h"
#include "runtime/rpc/server_call.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/session/master/master_client.h"
#include "runtime/session/metrics.h"

namespace tensorfleet::rpc {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kTimeout(10);

// gRPC stays up between the tests: its end waits, up to ten seconds, for what it frees elsewhere.
class GrpcStays final : public ::testing::Environment {
 public:
  void SetUp() override { grpc_init(); }
};
const auto* const kGrpcStays = ::testing::AddGlobalTestEnvironment(new GrpcStays);

// Task 0 of two; the other one is at `other_port`.
StatusOr<std::unique_ptr<Server>> StartServer(int other_port = 2) {
  ServerOptions options;
  const std::string other = absl::StrCat("localhost:", other_port);
  options.cluster = ClusterSpec::Make({{"ps", {{0, "localhost:1"}, {1, other}}}}).value();
  options.job = "ps";
  options.bind = "localhost:0";
  options.ops = &BuiltinOps();
  options.kernels = &CoreCpuKernels();
  options.compute_threads = 1;
  return Server::Start(std::move(options));
}

// Another task's view of the server.
struct Peer {
  explicit Peer(const Server& server)
      : worker(peers.Worker(absl::StrCat("localhost:", server.port()))) {}
  PollSet polls{std::make_unique<grpc::CompletionQueue>(), 1};
  GrpcPeers peers{polls.queue()};
  const std::shared_ptr<WorkerInterface> worker;
};

// At any server of this process.
void WaitUntilAReceiverWaits() {
  while (ServerMetrics().recv_tensor_waiting == 0) std::this_thread::yield();
}

DeviceAttributes DeviceOf(Peer* peer) {
  DeviceAttributes device;
  Notification answered;
  peer->worker->GetStatus({}, [&](const StatusOr<std::vector<DeviceAttributes>>& devices) {
    if (devices.ok()) device = devices->at(0);
    answered.Notify();
  });
  EXPECT_TRUE(answered.WaitFor(kTimeout));
  return device;
}

TEST(Server, ThatGoesDownTellsThoseWhoWaitThatItIsUnavailable) {
  const auto server = *StartServer();
  Peer peer(*server);
  const DeviceAttributes device = DeviceOf(&peer);
  const std::string key =
      MakeRendezvousKey(device.name, device.incarnation, device.name, "never_sent");
  RecvTensorResult result;
  Status status;
  Notification answered;
  peer.worker->RecvTensor({}, {/*step_id=*/1, /*request_id=*/2, key}, &result,
                          [&](const Status& answer) {
                            status = answer;
                            answered.Notify();
                          });
  WaitUntilAReceiverWaits();
  server->Stop(std::chrono::milliseconds(0));
  ASSERT_TRUE(answered.WaitFor(kTimeout));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("/job:ps/replica:0/task:0 is shutting down"));
}

TEST(Server, IsAskedWhetherItsMasterHasASession) {
  const auto server = *StartServer();
  tensorflow::ConfigProto config;
  config.add_device_filters("/job:ps/task:0");  // the other one is not there
  Peer peer(*server);
  const auto ask = [&](const std::string& handle) {
    Status status;
    Notification answered;
    CallOptions call;
    call.timeout = kTimeout;
    peer.peers.AskForSession(call, absl::StrCat("localhost:", server->port()), handle,
                             [&](const Status& answer) {
                               status = answer;
                               answered.Notify();
                             });
    answered.Wait();
    return status;
  };
  EXPECT_EQ(ask("0123456789abcdef").code(), absl::StatusCode::kNotFound);

  const auto connection =
      std::make_shared<Connection>(MakeChannel(absl::StrCat("localhost:", server->port())));
  tensorflow::CreateSessionRequest open;
  *open.mutable_config() = config;
  tensorflow::CreateSessionResponse opened;
  Notification is_open;
  StartCall(connection, peer.polls.queue(), "/tensorflow.MasterService/CreateSession",
            SerializeMessage(open), {}, [&](const Status& status, grpc::ByteBuffer* bytes) {
              EXPECT_EQ(status, OkStatus());
              EXPECT_TRUE(status.ok() && ParseMessage(bytes, &opened));
              is_open.Notify();
            });
  ASSERT_TRUE(is_open.WaitFor(kTimeout));
  EXPECT_EQ(ask(opened.session_handle()), OkStatus());
}

TEST(Peers, AreForgottenWhenNobodyHasHeldThemForAWhile) {
  PollSet polls{std::make_unique<grpc::CompletionQueue>(), 1};
  GrpcPeers peers(polls.queue());
  const int64_t before = ServerMetrics().peer_channels;
  std::shared_ptr<WorkerInterface> held = peers.Worker("localhost:1");
  (void)peers.Worker("localhost:2");
  EXPECT_EQ(ServerMetrics().peer_channels, before + 2);
  peers.DropUnused();
  EXPECT_EQ(ServerMetrics().peer_channels, before + 2);
  peers.DropUnused();
  EXPECT_EQ(ServerMetrics().peer_channels, before + 1);
  EXPECT_EQ(peers.Worker("localhost:1"), held);
  held = nullptr;
  peers.DropUnused();
  (void)peers.Worker("localhost:1");  // used in between
  peers.DropUnused();
  EXPECT_EQ(ServerMetrics().peer_channels, before + 1);
  peers.DropUnused();
  EXPECT_EQ(ServerMetrics().peer_channels, before);
}

// The graph's handle.
std::string Register(Peer* peer, tensorflow::GraphDef graph_def) {
  std::string handle;
  Notification registered;
  RegisterGraphArgs graph;
  graph.create_worker_session_called = false;
  graph.graph_def = std::move(graph_def);
  peer->worker->RegisterGraph({}, std::move(graph), [&](const StatusOr<std::string>& answer) {
    EXPECT_EQ(answer.status(), OkStatus());
    handle = answer.value_or("");
    registered.Notify();
  });
  EXPECT_TRUE(registered.WaitFor(kTimeout));
  return handle;
}

TEST(Server, ThatGoesDownSaysSoAlsoOfAStepThatFetchesFromAnother) {
  const auto silent = *StartServer();  // as task 1: it is asked for what it never makes
  const auto server = *StartServer(silent->port());
  Peer peer(*server), silent_peer(*silent);
  const DeviceAttributes device = DeviceOf(&peer);
  tensorflow::GraphDef graph;
  tensorflow::NodeDef* recv = graph.add_node();
  recv->set_name("recv");
  recv->set_op("_Recv");
  recv->set_device(device.name);
  (*recv->mutable_attr())["tensor_type"].set_type(tensorflow::DT_FLOAT);
  (*recv->mutable_attr())["tensor_name"].set_s("never_sent");
  (*recv->mutable_attr())["send_device"].set_s("/job:ps/replica:0/task:1/device:CPU:0");
  (*recv->mutable_attr())["send_device_incarnation"].set_i(
      static_cast<int64_t>(DeviceOf(&silent_peer).incarnation));
  (*recv->mutable_attr())["recv_device"].set_s(device.name);
  (*recv->mutable_attr())["client_terminated"].set_b(false);

  RunGraphArgs run;
  run.create_worker_session_called = false;
  run.step_id = 1;
  run.graph_handle = Register(&peer, std::move(graph));
  RunGraphResult result;
  Status status;
  Notification answered;
  peer.worker->RunGraph({}, &run, &result, [&](const Status& answer) {
    status = answer;
    answered.Notify();
  });
  WaitUntilAReceiverWaits();
  server->Stop(std::chrono::milliseconds(0));
  ASSERT_TRUE(answered.WaitFor(kTimeout));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_FALSE(IsDerived(status));
}

TEST(Server, EndsTheStepsOfItsOwnProcessWhenItStops) {
  const auto server = *StartServer();
  tensorflow::ConfigProto config;
  config.add_device_filters("/job:ps/task:0");  // the other one is not there
  const std::unique_ptr<MasterClient> client = server->NewClient(config);
  tensorflow::GraphDef graph;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    node { name: "queue" op: "FIFOQueueV2"
           attr { key: "component_types" value { list { type: DT_FLOAT } } } }
    node { name: "size" op: "QueueSizeV2" input: "queue" }
    node { name: "never" op: "QueueDequeueV2" input: "queue"
           attr { key: "component_types" value { list { type: DT_FLOAT } } } })",
                                                            &graph));
  ASSERT_EQ(client->Extend(graph), OkStatus());
  RunStepArgs args;
  args.fetches = {"size:0"};
  RunStepResult result;
  ASSERT_EQ(client->Run(args, &result), OkStatus());
  EXPECT_EQ(result.fetches.at(0).tensor.scalar<int32_t>(), 0);

  args.fetches = {"never:0"};
  RunStepResult nothing;
  Status ended;
  std::thread step([&] { ended = client->Run(args, &nothing); });
  server->Stop(std::chrono::milliseconds(0));
  step.join();
  EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable) << ended;
}

TEST(Server, HandsOverALargeTensorInPieces) {
  const auto server = *StartServer();
  Peer peer(*server);
  const DeviceAttributes device = DeviceOf(&peer);
  const std::string key = MakeRendezvousKey(device.name, device.incarnation, device.name, "large");
  constexpr int64_t kElements = 3'333'333;  // 26 MB, not a whole number of pieces
  Tensor sent = *Tensor::Allocate(DType::kInt64, Shape({kElements}));
  for (int64_t i = 0; i < kElements; ++i) sent.mutable_values<int64_t>()[i] = i;

  Notification ran, received;
  RunGraphArgs run;
  run.create_worker_session_called = false;
  run.step_id = 1;
  run.sends.push_back({key, sent});
  run.graph_handle = Register(&peer, {});
  Status status;
  RunGraphResult result;
  peer.worker->RunGraph({}, &run, &result, [&](const Status& answer) {
    status = answer;
    ran.Notify();
  });
  ASSERT_TRUE(ran.WaitFor(kTimeout));
  ASSERT_EQ(status, OkStatus());
  RecvTensorResult got;
  peer.worker->RecvTensor({}, {/*step_id=*/1, /*request_id=*/2, key}, &got,
                          [&](const Status& answer) {
                            status = answer;
                            received.Notify();
                          });
  ASSERT_TRUE(received.WaitFor(kTimeout));
  ASSERT_EQ(status, OkStatus());
  ASSERT_EQ(got.tensor.num_elements(), kElements);
  EXPECT_EQ(std::memcmp(got.tensor.raw(), sent.raw(), sent.bytes()), 0);
}

TEST(Server, ThatHangsUpWithoutAnAnswerIsUnavailableToo) {
  ServerCall* asked = nullptr;
  Notification received;
  std::vector<RawService::Method> methods(1);
  methods[0] = {"/tensorflow.WorkerService/CleanupGraph", [&](ServerCall* call) {
                  asked = call;
                  received.Notify();
                }};
  RawService service(std::move(methods));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("localhost:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  auto queue = builder.AddCompletionQueue();
  auto* const server_queue = queue.get();
  const auto server = builder.BuildAndStart();
  PollSet server_polls(std::move(queue), 1);
  service.Start(server_queue);

  PollSet polls(std::make_unique<grpc::CompletionQueue>(), 1);
  GrpcPeers peers(polls.queue());
  Status status;
  Notification answered;
  peers.Worker(absl::StrCat("localhost:", port))->CleanupGraph({}, 1, [&](const Status& answer) {
    status = answer;
    answered.Notify();
  });
  ASSERT_TRUE(received.WaitFor(kTimeout));
  server->Shutdown(std::chrono::system_clock::now());
  ASSERT_TRUE(answered.WaitFor(kTimeout));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  asked->ReplyError(Cancelled("too late"));
}

}  // namespace
}  // namespace tensorfleet::rpc
