// What becomes of calls to a peer whose connection takes bytes and passes nothing on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/master.pb.h"
#include "runtime/kernels/cpu/core.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/ops/all.h"
#include "runtime/rpc/peers/channels.h"
#include "runtime/rpc/peers/client_call.h"
#include "runtime/rpc/poll_set.h"
#include "runtime/rpc/server.h"
#include "runtime/rpc/testing/swallowing_proxy.h"
#include "runtime/rpc/wire/wire_reader.h"

namespace tensorfleet::rpc {
namespace {

using ::testing::HasSubstr;

// Much longer than what the tests wait for, on a crowded machine too.
constexpr std::chrono::seconds kTimeout(30);
constexpr std::chrono::milliseconds kSilence(100);
constexpr std::chrono::milliseconds kAnswer(1000);

// One task of two; the other one is at `other_port`.
std::unique_ptr<Server> StartServer(int task, int other_port) {
  ServerOptions options;
  const std::string other = absl::StrCat("localhost:", other_port);
  options.cluster = ClusterSpec::Make({{"ps", {{task, "localhost:1"}, {1 - task, other}}}}).value();
  options.job = "ps";
  options.task = task;
  options.bind = "localhost:0";
  options.ops = &BuiltinOps();
  options.kernels = &CoreCpuKernels();
  options.compute_threads = 1;
  options.peer_silence = kSilence;
  options.peer_answer = kAnswer;
  return *Server::Start(std::move(options));
}

class SilentPeerTest : public ::testing::Test {
 protected:
  std::shared_ptr<WorkerInterface> Worker() {
    return peers_.Worker(absl::StrCat("localhost:", proxy_.port()));
  }

  StatusOr<DeviceAttributes> AskForStatus() {
    StatusOr<DeviceAttributes> device;
    Notification answered;
    CallOptions options;
    options.timeout = kTimeout;
    Worker()->GetStatus(options, [&](const StatusOr<std::vector<DeviceAttributes>>& devices) {
      if (devices.ok()) {
        device = devices->at(0);
      } else {
        device = devices.status();
      }
      answered.Notify();
    });
    answered.Wait();
    return device;
  }

  // Asks for a tensor that nobody makes.
  struct Receiving {
    RecvTensorResult result;
    Status status;
    Notification over;
  };
  void Receive(const DeviceAttributes& device, Receiving* receiving) {
    const std::string key =
        MakeRendezvousKey(device.name, device.incarnation, device.name, "never_sent");
    Worker()->RecvTensor({}, {/*step_id=*/1, /*request_id=*/2, key}, &receiving->result,
                         [receiving](const Status& status) {
                           receiving->status = status;
                           receiving->over.Notify();
                         });
  }

  const std::unique_ptr<Server> server_ = StartServer(/*task=*/1, /*other_port=*/2);
  SwallowingProxy proxy_{server_->port()};
  TimerQueue timers_;
  PollSet polls_{std::make_unique<grpc::CompletionQueue>(), 1};
  GrpcPeers peers_{polls_.queue(), {&timers_, kSilence, kAnswer}};
};

TEST_F(SilentPeerTest, ACallThatWaitsInVainEndsAsUnavailable) {
  const StatusOr<DeviceAttributes> device = AskForStatus();
  ASSERT_EQ(device.status(), OkStatus());
  Receiving receiving;
  Receive(*device, &receiving);
  proxy_.SwallowOpenConnections();
  ASSERT_TRUE(receiving.over.WaitFor(kTimeout));
  EXPECT_EQ(receiving.status.code(), absl::StatusCode::kUnavailable) << receiving.status;
  EXPECT_THAT(std::string(receiving.status.message()),
              HasSubstr(absl::StrCat("no sign of life from localhost:", proxy_.port())));
}

TEST_F(SilentPeerTest, TheNextCallGoesByANewConnection) {
  const StatusOr<DeviceAttributes> device = AskForStatus();
  ASSERT_EQ(device.status(), OkStatus());
  Receiving receiving;
  proxy_.SwallowOpenConnections();
  Receive(*device, &receiving);
  ASSERT_TRUE(receiving.over.WaitFor(kTimeout));
  EXPECT_EQ(AskForStatus().status(), OkStatus());
  EXPECT_EQ(proxy_.connections(), 2);
}

TEST_F(SilentPeerTest, ACallThatALivePeerTakesLongForIsLeftAlone) {
  const StatusOr<DeviceAttributes> device = AskForStatus();
  ASSERT_EQ(device.status(), OkStatus());
  Receiving receiving;
  Receive(*device, &receiving);
  // It is asked for its status again and again, and answers: until the first question is older than
  // an answer may be.
  EXPECT_TRUE(proxy_.AwaitAnswers(kAnswer / kSilence + 2));
  EXPECT_FALSE(receiving.over.HasBeenNotified());
  EXPECT_EQ(proxy_.connections(), 1);
  server_->Stop(std::chrono::milliseconds(0));
  ASSERT_TRUE(receiving.over.WaitFor(kTimeout));
}

// Opens a session at another server that has this one as a peer, through the proxy.
class OpeningASessionTest : public SilentPeerTest {
 protected:
  Status Open() {
    tensorflow::CreateSessionRequest request;
    Status status = DeadlineExceeded("the session is not there in time");
    Notification answered;
    CallOptions options;
    options.timeout = kTimeout;
    const auto connection =
        std::make_shared<Connection>(MakeChannel(absl::StrCat("localhost:", master_->port())));
    StartCall(connection, polls_.queue(), "/tensorflow.MasterService/CreateSession",
              SerializeMessage(request), options, [&](const Status& answer, grpc::ByteBuffer*) {
                status = answer;
                answered.Notify();
              });
    answered.Wait();
    return status;
  }

  const std::unique_ptr<Server> master_ = StartServer(/*task=*/0, proxy_.port());
};

TEST_F(OpeningASessionTest, AsksAnewWhenTheConnectionHasGoneSilent) {
  ASSERT_EQ(Open(), OkStatus());
  ASSERT_EQ(proxy_.connections(), 1);
  proxy_.SwallowOpenConnections();
  EXPECT_EQ(Open(), OkStatus());
  EXPECT_EQ(proxy_.connections(), 2);
}

TEST_F(OpeningASessionTest, AsksAnewWhenTheFirstConnectionNeverSpoke) {
  proxy_.SwallowNextConnection();
  EXPECT_EQ(Open(), OkStatus());
  EXPECT_GE(proxy_.connections(), 2);
}

}  // namespace
}  // namespace tensorfleet::rpc
