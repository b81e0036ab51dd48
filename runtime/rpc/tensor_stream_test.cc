// Both sides of tensor_stream.h with each other, and each with a peer that does not keep to it.
#include "runtime/rpc/tensor_stream.h"

#include <gmock/gmock.h>
#include <grpc/grpc.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "proto/tensorfleet/transfer.pb.h"
#include "runtime/base/thread_pool.h"
#include "runtime/base/timer_queue.h"
#include "runtime/net/frame_socket.h"
#include "runtime/net/sockets.h"
#include "runtime/rpc/channels.h"
#include "runtime/rpc/tensor_stream_client.h"
#include "runtime/rpc/tensor_stream_server.h"
#include "runtime/rpc/worker_codec.h"

namespace tensorfleet::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kTimeout = std::chrono::seconds(20);

Tensor Counting(int64_t elements) {
  Tensor tensor = *Tensor::Allocate(DType::kInt64, Shape({elements}));
  auto values = tensor.mutable_values<int64_t>();
  for (int64_t i = 0; i < elements; ++i) values[i] = i;
  return tensor;
}

// Has the tensors that the test gives it; keeps those waiting who ask for others.
class FakeWorker final : public WorkerInterface {
 public:
  void RecvTensor(const CallOptions& options, const RecvTensorArgs& args, RecvTensorResult* result,
                  Done done) override {
    const auto it = results.find(args.key);
    if (it != results.end()) {
      *result = it->second;
      done(result->tensor.is_valid() ? OkStatus() : error);
      return;
    }
    CancellationManager* const cancellation = options.cancellation;
    const auto end = [cancellation, done] { done(cancellation->status()); };
    const bool waits = cancellation->Register(end) >= 0;
    asked_.Notify();
    if (!waits) end();
  }
  bool WaitForCall() { return asked_.WaitFor(kTimeout); }

  void GetStatus(const CallOptions&, DoneWith<std::vector<DeviceAttributes>>) override {}
  void CreateWorkerSession(const CallOptions&, const tensorflow::CreateWorkerSessionRequest&,
                           Done) override {}
  void DeleteWorkerSession(const CallOptions&, const std::string&, Done) override {}
  void RegisterGraph(const CallOptions&, RegisterGraphArgs, DoneWith<std::string>) override {}
  void DeregisterGraph(const CallOptions&, const tensorflow::DeregisterGraphRequest&,
                       Done) override {}
  void RunGraph(const CallOptions&, RunGraphArgs*, RunGraphResult*, Done) override {}
  void CleanupGraph(const CallOptions&, int64_t, Done) override {}
  void CleanupAll(const CallOptions&, const std::vector<std::string>&, Done) override {}
  void Logging(const CallOptions&, const tensorflow::LoggingRequest&,
               DoneWith<tensorflow::LoggingResponse>) override {}

  std::map<std::string, RecvTensorResult> results;
  Status error;  // for a result without a tensor

 private:
  Notification asked_;
};

// A gRPC server that answers OpenStream, and nothing else, as the test wants.
class Directory {
 public:
  explicit Directory(std::function<StatusOr<OpenStreamResponse>()> answer)
      : service_({{"/tensorfleet.TransferService/OpenStream",
                   [answer = std::move(answer)](ServerCall* call) {
                     const StatusOr<OpenStreamResponse> response = answer();
                     if (response.ok()) {
                       call->ReplyMessage(*response);
                     } else {
                       call->ReplyError(response.status());
                     }
                   }}}) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    auto queue = builder.AddCompletionQueue();
    grpc::ServerCompletionQueue* const server_queue = queue.get();
    server_ = builder.BuildAndStart();
    polls_ = std::make_unique<PollSet>(std::move(queue), 1);
    service_.Start(server_queue);
  }
  ~Directory() {
    server_->Shutdown(std::chrono::system_clock::now());
    polls_.reset();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  RawService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<PollSet> polls_;
};

class GrpcStays final : public ::testing::Environment {
 public:
  void SetUp() override { grpc_init(); }
};
const auto* const kGrpcStays = ::testing::AddGlobalTestEnvironment(new GrpcStays);

class TensorStreamTest : public ::testing::Test {
 protected:
  TensorStreamTest() {
    OpenStreamResponse response;
    response.set_port(server_->port());
    response.set_token(server_->token());
    MutexLock lock(&mu_);
    where_ = response;
  }
  ~TensorStreamTest() override {
    for (const auto& client : clients_) client->Close();
    server_->HangUp();
    loop_.reset();
  }
  std::shared_ptr<TensorStreamClient> Client() {
    return clients_.emplace_back(std::make_shared<TensorStreamClient>(
        context_, patience_,
        std::make_shared<PeerChannel>(directory_.address(), polls_.queue(), patience_),
        polls_.queue(), directory_.address()));
  }
  // Null when there is none.
  std::shared_ptr<TensorStream> StreamOf(TensorStreamClient* client) {
    std::shared_ptr<TensorStream> stream;
    Notification told;
    client->WithStream([&](std::shared_ptr<TensorStream> got) {
      stream = std::move(got);
      told.Notify();
    });
    EXPECT_TRUE(told.WaitFor(kTimeout));
    return stream;
  }
  static Status Fetch(TensorStream* stream, const std::string& key, RecvTensorResult* result) {
    Status status;
    Notification ended;
    const RecvTensorArgs args{1, 2, key};
    stream->RecvTensor({}, args, result, [&](const Status& answer) {
      status = answer;
      ended.Notify();
    });
    EXPECT_TRUE(ended.WaitFor(kTimeout));
    return status;
  }
  // Makes another server of the address that clients are told.
  std::shared_ptr<net::Listener> Impostor(std::function<void(int fd)> serve) {
    auto listener = *net::Listener::Start(loop_.get(), &timers_, "127.0.0.1", 0, std::move(serve));
    MutexLock lock(&mu_);
    where_->set_port(listener->port());
    return listener;
  }

  TimerQueue timers_;
  ThreadPool pool_{"compute", 1};
  std::unique_ptr<net::EventLoop> loop_ = *net::EventLoop::Start(2, nullptr);
  const StreamContext context_{loop_.get(), &timers_, &pool_};
  const PeerPatience patience_{&timers_, std::chrono::milliseconds(100),
                               std::chrono::milliseconds(1000)};
  FakeWorker worker_;
  std::unique_ptr<TensorStreamServer> server_ =
      *TensorStreamServer::Start(context_, &worker_, "127.0.0.1", 0);
  PollSet polls_{std::make_unique<grpc::CompletionQueue>(), 1};
  Mutex mu_;
  StatusOr<OpenStreamResponse> where_;
  int opened_ = 0;
  Directory directory_{[this] {
    MutexLock lock(&mu_);
    ++opened_;
    return where_;
  }};
  std::vector<std::shared_ptr<TensorStreamClient>> clients_;
};

TEST_F(TensorStreamTest, TensorsOfAllSizesArriveAsTheyWere) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  ASSERT_NE(stream, nullptr);
  for (const int64_t elements : {0, 1, 1023, 1024, 100'000, 3'000'000}) {
    worker_.results["k"].tensor = Counting(elements);
    worker_.results["k"].send_start_micros = 17 + elements;
    RecvTensorResult result;
    ASSERT_EQ(Fetch(stream.get(), "k", &result), OkStatus());
    EXPECT_EQ(result.tensor.shape(), Shape({elements}));
    EXPECT_EQ(result.tensor.values<int64_t>(), worker_.results["k"].tensor.values<int64_t>());
    EXPECT_EQ(result.send_start_micros, 17 + elements);
    EXPECT_FALSE(result.is_dead);
  }
}

TEST_F(TensorStreamTest, StringsAndDeadValuesArrive) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  worker_.results["words"].tensor = Tensor::Vector<std::string>({"a", std::string(50'000, 'b')});
  worker_.results["dead"].tensor = Tensor::Scalar<float>(0);
  worker_.results["dead"].is_dead = true;
  RecvTensorResult words, dead;
  ASSERT_EQ(Fetch(stream.get(), "words", &words), OkStatus());
  EXPECT_THAT(words.tensor.values<std::string>(), ElementsAre("a", std::string(50'000, 'b')));
  ASSERT_EQ(Fetch(stream.get(), "dead", &dead), OkStatus());
  EXPECT_TRUE(dead.is_dead);
}

TEST_F(TensorStreamTest, ErrorsKeepTheirPayloads) {
  worker_.results["k"] = {};
  worker_.error = MarkDerived(Aborted("the step was aborted"));
  const auto client = Client();
  RecvTensorResult result;
  EXPECT_EQ(Fetch(StreamOf(client.get()).get(), "k", &result), worker_.error);
}

TEST_F(TensorStreamTest, ACancelledCallEndsAtBothSides) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  CancellationManager cancellation;
  CallOptions options;
  options.cancellation = &cancellation;
  RecvTensorResult result;
  const RecvTensorArgs args{1, 2, "never made"};
  Status status;
  Notification ended;
  stream->RecvTensor(options, args, &result, [&](const Status& answer) {
    status = answer;
    ended.Notify();
  });
  ASSERT_TRUE(worker_.WaitForCall());
  EXPECT_FALSE(server_->is_idle());
  cancellation.StartCancel();
  ASSERT_TRUE(ended.WaitFor(kTimeout));
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (!server_->is_idle() && std::chrono::steady_clock::now() < end) ::usleep(1000);
  EXPECT_TRUE(server_->is_idle());
}

TEST_F(TensorStreamTest, ACallThatIsCancelledBeforeItBeganEnds) {
  const auto client = Client();
  CancellationManager cancellation;
  cancellation.StartCancel();
  CallOptions options;
  options.cancellation = &cancellation;
  RecvTensorResult result;
  const RecvTensorArgs args{1, 2, "k"};
  Notification ended;
  StreamOf(client.get())->RecvTensor(options, args, &result, [&](const Status&) {
    ended.Notify();
  });
  EXPECT_TRUE(ended.WaitFor(kTimeout));
}

TEST_F(TensorStreamTest, AServerThatHangsUpIsUnavailableAndFoundAgain) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  RecvTensorResult result;
  const RecvTensorArgs args{1, 2, "never made"};
  Status status;
  Notification ended;
  stream->RecvTensor({}, args, &result, [&](const Status& answer) {
    status = answer;
    ended.Notify();
  });
  ASSERT_TRUE(worker_.WaitForCall());
  server_->CancelCalls(Unavailable("going down"));
  ASSERT_TRUE(ended.WaitFor(kTimeout));
  EXPECT_EQ(status, Unavailable("going down"));
  server_->HangUp();
  EXPECT_EQ(Fetch(stream.get(), "k", &result).code(), absl::StatusCode::kUnavailable);

  FakeWorker other_worker;
  other_worker.results["k"].tensor = Counting(10);
  const auto other = *TensorStreamServer::Start(context_, &other_worker, "127.0.0.1", 0);
  {
    MutexLock lock(&mu_);
    where_->set_port(other->port());
    where_->set_token(other->token());
  }
  const auto again = StreamOf(client.get());
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(Fetch(again.get(), "k", &result), OkStatus());
  client->Close();
  other->HangUp();
  loop_.reset();
}

TEST_F(TensorStreamTest, AServerWithoutStreamsIsNotAskedEachTime) {
  {
    MutexLock lock(&mu_);
    where_ = Unimplemented("unknown service");
  }
  const auto client = Client();
  EXPECT_EQ(StreamOf(client.get()), nullptr);
  EXPECT_EQ(StreamOf(client.get()), nullptr);
  MutexLock lock(&mu_);
  EXPECT_EQ(opened_, 1);
}

TEST_F(TensorStreamTest, AClosedPortMeansNoStream) {
  const auto listener = Impostor([](int fd) { ::close(fd); });
  listener->Close();
  const auto client = Client();
  EXPECT_EQ(StreamOf(client.get()), nullptr);
}

TEST_F(TensorStreamTest, AnotherServersTokenIsRefused) {
  {
    MutexLock lock(&mu_);
    where_->set_token(std::string(kStreamTokenBytes, 'x'));
  }
  const auto client = Client();
  EXPECT_EQ(StreamOf(client.get()), nullptr);
}

TEST_F(TensorStreamTest, AServerThatNeverAnswersTheHelloMeansNoStream) {
  std::vector<int> kept;
  const auto listener = Impostor([&](int fd) { kept.push_back(fd); });
  const auto client = Client();
  EXPECT_EQ(StreamOf(client.get()), nullptr);
  listener->Close();
  for (const int fd : kept) ::close(fd);
}

// A server's frames, whatever is asked.
struct Script {
  struct Frame {
    StreamFrame kind;
    uint64_t id;
    std::string message;
  };
  std::vector<Frame> frames;
};

class ScriptedServer final : public net::FrameSocket::Receiver {
 public:
  explicit ScriptedServer(Script script) : script_(std::move(script)) {}
  StatusOr<net::FrameTarget> OnHeader(const net::FrameHeader&) override {
    return net::FrameTarget();
  }
  Status OnFrame(const net::FrameHeader& header, std::string, net::EventLoop::Work*) override {
    if (static_cast<StreamFrame>(header.kind) == StreamFrame::kHello) {
      socket->Send(static_cast<uint32_t>(StreamFrame::kHello), 0, "");
      return OkStatus();
    }
    for (const Script::Frame& frame : script_.frames) {
      socket->Send(static_cast<uint32_t>(frame.kind), frame.id, frame.message);
    }
    return OkStatus();
  }
  void OnClosed(const Status&) override { socket.reset(); }
  std::shared_ptr<net::FrameSocket> socket;

 private:
  const Script script_;
};

std::string ReplyWithHead(int64_t elements) {
  RecvTensorResult result;
  result.tensor = Counting(elements);
  return EncodeStreamReply(result)->message;
}

// What a call ends with whose answer are these frames. Its id is 1.
class HostileServer : public TensorStreamTest {
 protected:
  Status CallAnsweredBy(Script script) {
    std::shared_ptr<ScriptedServer> scripted = std::make_shared<ScriptedServer>(std::move(script));
    const auto listener = Impostor([&](int fd) {
      scripted->socket = *net::FrameSocket::Open(loop_.get(), fd, scripted);
      scripted->socket->StartReading();
    });
    const auto client = Client();
    const auto stream = StreamOf(client.get());
    if (stream == nullptr) return Internal("there is no stream");
    RecvTensorResult result;
    const Status status = Fetch(stream.get(), "k", &result);
    client->Close();
    listener->Close();
    return status;
  }
};

TEST_F(HostileServer, ContentWithoutAHeadEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({{{StreamFrame::kContent, 1, "abc"}}}).message(),
              HasSubstr("content without a head"));
}

TEST_F(HostileServer, MoreContentThanTheTensorHasEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({{{StreamFrame::kReply, 1, ReplyWithHead(2000)},
                               {StreamFrame::kContent, 1, std::string(15'999, 'x')},
                               {StreamFrame::kContent, 1, "yz"}}})
                  .message(),
              HasSubstr("more of a tensor than it has"));
}

TEST_F(HostileServer, ASecondReplyEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({{{StreamFrame::kReply, 1, ReplyWithHead(2000)},
                               {StreamFrame::kReply, 1, ReplyWithHead(4000)}}})
                  .message(),
              HasSubstr("two replies"));
}

TEST_F(HostileServer, AnUnknownFrameEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({{{static_cast<StreamFrame>(99), 1, ""}}}).message(),
              HasSubstr("unknown kind: 99"));
}

TEST_F(HostileServer, AnAnswerThatCannotBeParsedIsThatCallsError) {
  for (const StreamFrame kind : {StreamFrame::kReply, StreamFrame::kError}) {
    EXPECT_THAT(CallAnsweredBy({{{kind, 1, "\xff\xff\xff"}}}).message(),
                HasSubstr("cannot be parsed"));
  }
}

TEST_F(HostileServer, SilenceEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({}).message(), HasSubstr("no sign of life"));
}

TEST_F(TensorStreamTest, AServerThatSaysThatItIsThereIsWaitedFor) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  RecvTensorResult result;
  const RecvTensorArgs args{1, 2, "never made"};
  Notification ended;
  stream->RecvTensor({}, args, &result, [&](const Status&) { ended.Notify(); });
  EXPECT_FALSE(ended.WaitFor(2 * (patience_.silence + patience_.answer)));
  server_->CancelCalls(Unavailable("the test is over"));
  EXPECT_TRUE(ended.WaitFor(kTimeout));
}

TEST_F(HostileServer, FramesForNobodyAreSkipped) {
  const Status end =
      CallAnsweredBy({{{StreamFrame::kReply, 77, ReplyWithHead(2000)},
                       {StreamFrame::kContent, 77, "abc"},
                       {StreamFrame::kError, 1, EncodeStreamError(Aborted("over"))}}});
  EXPECT_EQ(end, Aborted("over"));
}

// Whether the server hangs up on a client that sends these bytes.
class HostileClient : public TensorStreamTest {
 protected:
  static std::string Frame(StreamFrame kind, uint64_t id, const std::string& message) {
    const net::FrameHeader header{id, static_cast<uint32_t>(message.size()),
                                  static_cast<uint32_t>(kind)};
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + message;
  }
  bool HangsUpOn(const std::string& bytes) {
    const int fd = *net::StartConnect("127.0.0.1", server_->port());
    pollfd waiting{fd, POLLOUT, 0};
    EXPECT_EQ(::poll(&waiting, 1, 20'000), 1);
    EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    ssize_t got = 1;
    while (got != 0 && std::chrono::steady_clock::now() < end) {
      waiting.events = POLLIN;
      ::poll(&waiting, 1, 1000);
      char buffer[256];
      got = ::recv(fd, buffer, sizeof(buffer), 0);
      if (got < 0 && errno == ECONNRESET) got = 0;
    }
    ::close(fd);
    return got == 0;
  }
};

TEST_F(HostileClient, WhoDoesNotKnowTheTokenIsNotServed) {
  EXPECT_TRUE(HangsUpOn(Frame(StreamFrame::kHello, 0, std::string(kStreamTokenBytes, 'x'))));
  EXPECT_TRUE(HangsUpOn(Frame(StreamFrame::kHello, 0, server_->token() + "x")));
  EXPECT_TRUE(HangsUpOn(Frame(StreamFrame::kRecvTensor, 1, "")));
  EXPECT_TRUE(HangsUpOn("GET / HTTP/1.1\r\n\r\n"));
}

TEST_F(HostileClient, WhoSaysNothingIsNotWaitedForForEver) { EXPECT_TRUE(HangsUpOn("")); }

TEST_F(HostileClient, FramesThatMakeNoSenseEndTheConnection) {
  const std::string hello = Frame(StreamFrame::kHello, 0, server_->token());
  EXPECT_TRUE(HangsUpOn(hello + hello));
  EXPECT_TRUE(HangsUpOn(hello + Frame(StreamFrame::kContent, 1, "abc")));
  EXPECT_TRUE(HangsUpOn(hello + Frame(StreamFrame::kRecvTensor, 1, "\xff\xff\xff")));
  EXPECT_TRUE(HangsUpOn(hello + Frame(StreamFrame::kRecvTensor, 1, "") +
                        Frame(StreamFrame::kRecvTensor, 1, "")));
}

TEST(AddressOfPeer, IsTheNumericPart) {
  EXPECT_EQ(AddressOfPeer("ipv4:10.0.0.1:2222"), "10.0.0.1");
  EXPECT_EQ(AddressOfPeer("ipv6:[::1]:2222"), "::1");
  EXPECT_EQ(AddressOfPeer("ipv6:%5Bfe80::1%25eth0%5D:2222"), "fe80::1%eth0");
  EXPECT_EQ(AddressOfPeer("unix:/tmp/socket"), "");
  EXPECT_EQ(AddressOfPeer(""), "");
}

}  // namespace
}  // namespace tensorfleet::rpc
