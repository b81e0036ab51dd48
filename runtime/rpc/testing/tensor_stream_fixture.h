// A tensor stream's server with a worker that has what the test gives it, and its clients.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/tensorfleet/transfer.pb.h"
#include "runtime/base/thread_pool.h"
#include "runtime/base/timer_queue.h"
#include "runtime/net/sockets.h"
#include "runtime/rpc/peers/channels.h"
#include "runtime/rpc/tensor_stream/tensor_stream_client.h"
#include "runtime/rpc/tensor_stream/tensor_stream_server.h"

namespace tensorfleet::rpc {

inline constexpr auto kTimeout = std::chrono::seconds(20);

inline Tensor Counting(int64_t elements) {
  Tensor tensor = *Tensor::Allocate(DType::kInt64, {elements});
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
  void CompleteGroup(const CallOptions&, const tensorflow::CompleteGroupRequest&,
                     DoneWith<tensorflow::CompleteGroupResponse>) override {}
  void CompleteInstance(const CallOptions&, const tensorflow::CompleteInstanceRequest&,
                        DoneWith<tensorflow::CompleteInstanceResponse>) override {}
  void GetStepSequence(const CallOptions&, const tensorflow::GetStepSequenceRequest&,
                       DoneWith<tensorflow::GetStepSequenceResponse>) override {}
  void RecvBuf(const CallOptions&, const RecvBufArgs&, RecvTensorResult*, Done) override {}

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

class TensorStreamTest : public ::testing::Test {
 protected:
  TensorStreamTest() {
    OpenStreamResponse response;
    response.set_port(server_->port());
    response.set_token(server_->token());
    response.set_local_name(server_->local_name());
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
  std::shared_ptr<ClientStream> StreamOf(TensorStreamClient* client) {
    std::shared_ptr<ClientStream> stream;
    Notification told;
    client->WithStream([&](std::shared_ptr<ClientStream> got) {
      stream = std::move(got);
      told.Notify();
    });
    EXPECT_TRUE(told.WaitFor(kTimeout));
    return stream;
  }
  static Status Fetch(ClientStream* stream, const std::string& key, RecvTensorResult* result) {
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
  // As if clients were on another machine.
  void HideLocalName() {
    MutexLock lock(&mu_);
    where_->clear_local_name();
  }
  // Makes another server of the address that clients are told.
  std::shared_ptr<net::Listener> Impostor(std::function<void(int fd)> serve) {
    HideLocalName();
    auto listener = *net::Listener::Start(loop_.get(), &timers_, "127.0.0.1", 0, std::move(serve));
    MutexLock lock(&mu_);
    where_->set_port(listener->port());
    return listener;
  }
  // Likewise, on this machine.
  std::shared_ptr<net::Listener> LocalImpostor(std::function<void(int fd)> serve) {
    auto listener = *net::Listener::StartLocally(loop_.get(), &timers_, std::move(serve));
    MutexLock lock(&mu_);
    where_->set_local_name(listener->name());
    return listener;
  }
  // Whether nothing is left of any call, in the end.
  bool BecomesIdle() const {
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    while (!server_->is_idle() && std::chrono::steady_clock::now() < end) ::usleep(1000);
    return server_->is_idle();
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

}  // namespace tensorfleet::rpc
