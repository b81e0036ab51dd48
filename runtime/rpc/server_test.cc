#include "runtime/rpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include "runtime/base/mutex.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/ops/all.h"
#include "runtime/rpc/channels.h"
#include "runtime/rpc/poll_set.h"
#include "runtime/rpc/server_call.h"

namespace tensorfleet::rpc {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kTimeout(10);

StatusOr<std::unique_ptr<Server>> StartServer() {
  ServerOptions options;
  options.cluster = ClusterSpec::Make({{"ps", {{0, "localhost:1"}}}}).value();
  options.job = "ps";
  options.bind = "localhost:0";
  options.ops = &BuiltinOps();
  options.kernels = &CpuKernels();
  options.compute_threads = 1;
  return Server::Start(std::move(options));
}

// Another task's view of the server.
struct Peer {
  explicit Peer(const Server& server)
      : worker(peers.Worker(absl::StrCat("localhost:", server.port()))) {}
  PollSet polls{std::make_unique<grpc::CompletionQueue>(), 1};
  GrpcPeers peers{polls.queue()};
  WorkerInterface* const worker;
};

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
  ASSERT_FALSE(answered.WaitFor(std::chrono::milliseconds(100)));
  server->Stop(std::chrono::milliseconds(0));
  ASSERT_TRUE(answered.WaitFor(kTimeout));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("/job:ps/replica:0/task:0 is shutting down"));
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
