#include "runtime/rpc/tensor_stream/tensor_stream_server.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "proto/tensorfleet/transfer.pb.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/random_id.h"
#include "runtime/base/timer_queue.h"
#include "runtime/net/frame_socket.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/rpc/wire/worker_codec.h"
#include "runtime/session/metrics.h"

namespace tensorfleet::rpc {
namespace {

constexpr size_t kMostConnections = 4096;
constexpr size_t kMostCalls = 65'536;  // of a connection
// For the first words of a connection.
constexpr auto kHelloTime = std::chrono::seconds(5);

std::string MakeToken() {
  std::string token(kStreamTokenBytes, '\0');
  for (size_t i = 0; i < token.size(); i += sizeof(uint64_t)) {
    const uint64_t random = RandomNonZero64();
    std::copy_n(reinterpret_cast<const char*>(&random), sizeof(random), &token[i]);
  }
  return token;
}

// Takes as long for any two of the same length.
bool AreEqual(absl::string_view a, absl::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

uint32_t Number(StreamFrame kind) { return static_cast<uint32_t>(kind); }

}  // namespace

class TensorStreamServer::Connection final : public net::FrameSocket::Receiver,
                                             public std::enable_shared_from_this<Connection> {
 public:
  Connection(TensorStreamServer* server, bool is_local) : server_(server), is_local_(is_local) {}

  // False when it was closed before.
  bool SetSocket(std::shared_ptr<net::FrameSocket> socket) {
    MutexLock lock(&mu_);
    if (is_closed_) return false;
    socket_ = std::move(socket);
    return true;
  }
  void Close(const Status& why) {
    if (const auto socket = this->socket()) socket->Close(why);
  }
  void CloseUnlessGreeted() {
    if (!is_greeted_.load()) Close(DeadlineExceeded("no token in time"));
  }
  // Nothing is left that a client has yet to get.
  bool is_flushed() const {
    MutexLock lock(&mu_);
    return socket_ == nullptr || (offers_.empty() && socket_->is_flushed());
  }
  void CancelCalls(const Status& why) {
    for (const std::shared_ptr<Call>& call : Calls()) call->cancellation.StartCancel(why);
  }

  StatusOr<net::FrameTarget> OnHeader(const net::FrameHeader& header) override;
  Status OnFrame(const net::FrameHeader& header, std::string message,
                 net::EventLoop::Work* later) override;
  void OnClosed(const Status& why) override;

 private:
  struct Call {
    bool may_offer = false;
    RecvTensorArgs args;
    RecvTensorResult result;
    CancellationManager cancellation;
  };

  std::shared_ptr<net::FrameSocket> socket() const {
    MutexLock lock(&mu_);
    return socket_;
  }
  std::vector<std::shared_ptr<Call>> Calls() {
    MutexLock lock(&mu_);
    std::vector<std::shared_ptr<Call>> calls;
    for (const auto& [id, call] : calls_) calls.push_back(call);
    return calls;
  }
  Status Begin(uint64_t id, bool may_offer, const std::string& request,
               net::EventLoop::Work* later);
  void Answer(uint64_t id, const Call& call, const Status& status);
  void Reply(net::FrameSocket* socket, uint64_t id, StreamReply reply);
  // Keeps the tensor until the client has read it.
  void Offer(net::FrameSocket* socket, uint64_t id, StreamReply reply);
  // What is offered under that id, no more.
  StreamReply Withdraw(uint64_t id);
  void Cancel(uint64_t id, net::EventLoop::Work* later);

  TensorStreamServer* const server_;  // outlives its calls
  const bool is_local_;
  std::atomic<bool> is_greeted_{false};
  mutable Mutex mu_;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<net::FrameSocket> socket_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, std::shared_ptr<Call>> calls_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, StreamReply> offers_ ABSL_GUARDED_BY(mu_);
};

StatusOr<net::FrameTarget> TensorStreamServer::Connection::OnHeader(
    const net::FrameHeader& header) {
  const auto makes_sense = [&] {
    const auto kind = static_cast<StreamFrame>(header.kind);
    if (!is_greeted_.load()) {
      return kind == StreamFrame::kHello && header.size == kStreamTokenBytes;
    }
    switch (kind) {
      case StreamFrame::kRecvTensor:
        return header.size <= kMaxStreamRequestBytes;
      case StreamFrame::kRecvOrRead:
        return is_local_ && header.size <= kMaxStreamRequestBytes;
      case StreamFrame::kCancel:
      case StreamFrame::kPing:
      case StreamFrame::kTaken:
      case StreamFrame::kSendIt:
        return header.size == 0;
      default:
        return false;
    }
  };
  if (!makes_sense()) return Internal("a frame that makes no sense here");
  return net::FrameTarget();
}

Status TensorStreamServer::Connection::OnFrame(const net::FrameHeader& header, std::string message,
                                               net::EventLoop::Work* later) {
  const auto kind = static_cast<StreamFrame>(header.kind);
  const std::shared_ptr<net::FrameSocket> socket = this->socket();
  if (socket == nullptr) return OkStatus();  // it is being closed
  switch (kind) {
    case StreamFrame::kHello:
      if (!AreEqual(message, server_->token())) return PermissionDenied("not this server's token");
      is_greeted_.store(true);
      socket->Send(Number(StreamFrame::kHello), 0, "");
      return OkStatus();
    case StreamFrame::kPing:
      socket->Send(Number(StreamFrame::kPong), 0, "");
      return OkStatus();
    case StreamFrame::kRecvTensor:
    case StreamFrame::kRecvOrRead:
      return Begin(header.id, kind == StreamFrame::kRecvOrRead, message, later);
    case StreamFrame::kTaken:
      Withdraw(header.id);
      return OkStatus();
    case StreamFrame::kSendIt:
      if (StreamReply reply = Withdraw(header.id); reply.content.is_valid()) {
        Reply(socket.get(), header.id, std::move(reply));
      }
      return OkStatus();
    default:
      Cancel(header.id, later);
      return OkStatus();
  }
}

// It may have been answered meanwhile.
void TensorStreamServer::Connection::Cancel(uint64_t id, net::EventLoop::Work* later) {
  Withdraw(id);
  MutexLock lock(&mu_);
  const auto it = calls_.find(id);
  if (it == calls_.end()) return;
  later->push_back([call = it->second] {
    call->cancellation.StartCancel(MarkDerived(Cancelled("the client gave up the call")));
  });
}

StreamReply TensorStreamServer::Connection::Withdraw(uint64_t id) {
  MutexLock lock(&mu_);
  const auto it = offers_.find(id);
  if (it == offers_.end()) return {};
  StreamReply reply = std::move(it->second);
  offers_.erase(it);
  return reply;
}

Status TensorStreamServer::Connection::Begin(uint64_t id, bool may_offer,
                                             const std::string& request,
                                             net::EventLoop::Work* later) {
  auto call = std::make_shared<Call>();
  call->may_offer = may_offer;
  grpc::ByteBuffer bytes = ViewOf(request);
  TFLEET_RETURN_IF_ERROR(DecodeRecvTensor(&bytes, &call->args));
  {
    MutexLock lock(&mu_);
    if (is_closed_) return OkStatus();
    if (calls_.size() + offers_.size() >= kMostCalls)
      return ResourceExhausted("too many calls at once");
    if (offers_.contains(id) || !calls_.emplace(id, call).second) {
      return Internal("an id that is in use");
    }
  }
  {
    MutexLock lock(&server_->mu_);
    ++server_->calls_;
  }
  ServerMetrics().rpcs.fetch_add(1, std::memory_order_relaxed);
  later->push_back([self = shared_from_this(), id, call = std::move(call)] {
    CallOptions options;
    options.cancellation = &call->cancellation;
    self->server_->worker_->RecvTensor(
        options, call->args, &call->result,
        [self, id, call](const Status& status) { self->Answer(id, *call, status); });
  });
  return OkStatus();
}

void TensorStreamServer::Connection::Answer(uint64_t id, const Call& call, const Status& status) {
  std::shared_ptr<net::FrameSocket> socket;
  {
    MutexLock lock(&mu_);
    calls_.erase(id);
    socket = socket_;
  }
  if (socket != nullptr) {
    StatusOr<StreamReply> reply =
        status.ok() ? EncodeStreamReply(call.result) : StatusOr<StreamReply>(status);
    if (!reply.ok()) {
      socket->Send(Number(StreamFrame::kError), id, EncodeStreamError(reply.status()));
    } else if (call.may_offer && reply->content.is_valid() &&
               reply->content.bytes() >= kLeastOfferBytes) {
      Offer(socket.get(), id, *std::move(reply));
    } else {
      Reply(socket.get(), id, *std::move(reply));
    }
  }
  MutexLock lock(&server_->mu_);
  if (--server_->calls_ == 0) server_->changed_.NotifyAll();
}

void TensorStreamServer::Connection::Reply(net::FrameSocket* socket, uint64_t id,
                                           StreamReply reply) {
  socket->SendWithContent(Number(StreamFrame::kReply), id, reply.message,
                          Number(StreamFrame::kContent), std::move(reply.content));
}

void TensorStreamServer::Connection::Offer(net::FrameSocket* socket, uint64_t id,
                                           StreamReply reply) {
  const auto address = reinterpret_cast<uint64_t>(reply.content.raw());
  std::string message(kOfferAddressBytes, '\0');
  std::memcpy(message.data(), &address, sizeof(address));
  message += reply.message;
  {
    MutexLock lock(&mu_);
    if (is_closed_) return;
    offers_.emplace(id, std::move(reply));
  }
  socket->Send(Number(StreamFrame::kOffer), id, message);
}

void TensorStreamServer::Connection::OnClosed(const Status&) {
  const auto self = shared_from_this();
  std::shared_ptr<net::FrameSocket> socket;
  absl::flat_hash_map<uint64_t, StreamReply> offers;
  {
    MutexLock lock(&mu_);
    is_closed_ = true;
    socket = std::move(socket_);
    offers.swap(offers_);
  }
  {
    MutexLock lock(&server_->mu_);
    server_->connections_.erase(self);
  }
  CancelCalls(MarkDerived(Cancelled("the client is gone")));
}

StatusOr<std::unique_ptr<TensorStreamServer>> TensorStreamServer::Start(
    const StreamContext& context, WorkerInterface* worker, const std::string& host, int port) {
  std::unique_ptr<TensorStreamServer> server(new TensorStreamServer(context, worker));
  TFLEET_ASSIGN_OR_RETURN(
      server->listener_,
      net::Listener::Start(context.loop, context.timers, host, port,
                           [s = server.get()](int fd) { s->Accept(fd, false); }));
  // Without it those of this machine take the port, as the others do.
  auto local = net::Listener::StartLocally(context.loop, context.timers,
                                           [s = server.get()](int fd) { s->Accept(fd, true); });
  if (local.ok()) server->local_listener_ = *std::move(local);
  return server;
}

TensorStreamServer::TensorStreamServer(const StreamContext& context, WorkerInterface* worker)
    : context_(context), worker_(worker), token_(MakeToken()) {}

TensorStreamServer::~TensorStreamServer() {
  MutexLock lock(&mu_);
  while (calls_ > 0) changed_.Wait(&mu_);
}

void TensorStreamServer::Accept(int fd, bool is_local) {
  auto connection = std::make_shared<Connection>(this, is_local);
  {
    MutexLock lock(&mu_);
    if (is_closed_ || connections_.size() >= kMostConnections) {
      ::close(fd);
      return;
    }
    connections_.insert(connection);
  }
  StatusOr<std::shared_ptr<net::FrameSocket>> socket =
      net::FrameSocket::Open(context_.loop, fd, connection);
  if (!socket.ok()) {
    connection->OnClosed(socket.status());
  } else if (connection->SetSocket(*socket)) {
    (*socket)->StartReading();
    context_.timers->RunAfter(kHelloTime, [weak = std::weak_ptr<Connection>(connection)] {
      if (const auto connection = weak.lock()) connection->CloseUnlessGreeted();
    });
  }
}

std::vector<std::shared_ptr<TensorStreamServer::Connection>> TensorStreamServer::Connections()
    const {
  MutexLock lock(&mu_);
  return {connections_.begin(), connections_.end()};
}

bool TensorStreamServer::is_idle() const {
  {
    MutexLock lock(&mu_);
    if (calls_ > 0) return false;
  }
  for (const auto& connection : Connections()) {
    if (!connection->is_flushed()) return false;
  }
  return true;
}

void TensorStreamServer::CancelCalls(const Status& why) {
  for (const auto& connection : Connections()) connection->CancelCalls(why);
}

void TensorStreamServer::HangUp() {
  listener_->Close();
  if (local_listener_ != nullptr) local_listener_->Close();
  {
    MutexLock lock(&mu_);
    is_closed_ = true;
  }
  for (const auto& connection : Connections()) {
    connection->Close(Unavailable("the server hangs up"));
  }
}

std::unique_ptr<RawService> MakeTransferService(const TensorStreamServer* streams) {
  const auto open = [streams](ServerCall* call) {
    if (streams == nullptr) {
      call->ReplyError(Unimplemented("this server sends tensors through gRPC only"));
      return;
    }
    OpenStreamResponse response;
    response.set_port(streams->port());
    response.set_token(streams->token());
    response.set_local_name(streams->local_name());
    call->ReplyMessage(response);
  };
  return std::make_unique<RawService>(
      std::vector<RawService::Method>{{"/tensorfleet.TransferService/OpenStream", open}});
}

}  // namespace tensorfleet::rpc
