#include "runtime/rpc/tensor_stream_client.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "proto/tensorfleet/transfer.pb.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/log.h"
#include "runtime/base/thread_pool.h"
#include "runtime/base/timer_queue.h"
#include "runtime/net/frame_socket.h"
#include "runtime/net/sockets.h"
#include "runtime/rpc/client_call.h"
#include "runtime/rpc/wire_reader.h"
#include "runtime/rpc/wire_writer.h"
#include "runtime/rpc/worker_codec.h"

namespace tensorfleet::rpc {
namespace {

constexpr char kOpenStream[] = "/tensorfleet.TransferService/OpenStream";
constexpr auto kOpenTime = std::chrono::milliseconds(5000);
constexpr auto kHelloTime = std::chrono::seconds(2);
// Until a server is asked again: that had no streams; that was not there; whose port was closed.
constexpr auto kWithoutStreams = std::chrono::seconds(60);
constexpr auto kAbsent = std::chrono::milliseconds(200);
constexpr auto kUnreachable = std::chrono::seconds(60);

uint32_t Number(StreamFrame kind) { return static_cast<uint32_t>(kind); }

}  // namespace

class TensorStreamClient::Stream final : public TensorStream,
                                         public net::FrameSocket::Receiver,
                                         public std::enable_shared_from_this<Stream> {
 public:
  Stream(std::weak_ptr<TensorStreamClient> client, ThreadPool* pool)
      : client_(std::move(client)), pool_(pool) {}

  void Start(std::shared_ptr<net::FrameSocket> socket, const std::string& token) {
    {
      MutexLock lock(&mu_);
      socket_ = socket;
    }
    socket->Send(Number(StreamFrame::kHello), 0, token);
    socket->StartReading();
  }
  void Close(const Status& why) {
    if (const auto socket = this->socket()) socket->Close(why);
  }

  // Asks for something to come back.
  void Ping() {
    if (const auto socket = this->socket()) socket->Send(Number(StreamFrame::kPing), 0, "");
  }
  size_t bytes_received() const {
    const auto socket = this->socket();
    return socket == nullptr ? 0 : socket->bytes_received();
  }
  bool is_waiting() const {
    MutexLock lock(&mu_);
    return !calls_.empty();
  }

  void RecvTensor(const CallOptions& options, const RecvTensorArgs& args, RecvTensorResult* result,
                  WorkerInterface::Done done) override;
  StatusOr<net::FrameTarget> OnHeader(const net::FrameHeader& header) override;
  Status OnFrame(const net::FrameHeader& header, std::string message,
                 net::EventLoop::Work* later) override;
  void OnClosed(const Status& why) override;

 private:
  struct Call {
    RecvTensorResult* result = nullptr;
    WorkerInterface::Done done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = -1;
    Tensor tensor;  // valid when the reply has come and its content has not
    size_t received = 0;

    void End(const Status& status) const {
      if (token >= 0) cancellation->TryDeregister(token);
      done(status);
    }
  };

  std::shared_ptr<net::FrameSocket> socket() const {
    MutexLock lock(&mu_);
    return socket_;
  }
  std::shared_ptr<Call> Take(uint64_t id) {
    MutexLock lock(&mu_);
    const auto it = calls_.find(id);
    if (it == calls_.end()) return nullptr;
    std::shared_ptr<Call> call = std::move(it->second);
    calls_.erase(it);
    return call;
  }
  void Cancel(uint64_t id);
  Status OnReply(uint64_t id, const std::string& message, net::EventLoop::Work* later);
  void OnContent(const net::FrameHeader& header, net::EventLoop::Work* later);

  const std::weak_ptr<TensorStreamClient> client_;
  ThreadPool* const pool_;
  mutable Mutex mu_;
  std::shared_ptr<net::FrameSocket> socket_ ABSL_GUARDED_BY(mu_);  // null once closed
  Status why_closed_ ABSL_GUARDED_BY(mu_);
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Call>> calls_ ABSL_GUARDED_BY(mu_);
};

void TensorStreamClient::Stream::RecvTensor(const CallOptions& options, const RecvTensorArgs& args,
                                            RecvTensorResult* result, WorkerInterface::Done done) {
  auto call = std::make_shared<Call>();
  call->result = result;
  call->done = std::move(done);
  uint64_t id = 0;
  std::shared_ptr<net::FrameSocket> socket;
  Status closed;
  {
    MutexLock lock(&mu_);
    socket = socket_;
    closed = why_closed_;
    id = next_id_++;
    if (socket != nullptr) calls_.emplace(id, call);
  }
  if (socket == nullptr) {
    call->done(closed);
    return;
  }
  const std::string request = Flatten(EncodeRecvTensor(args));
  if (options.cancellation != nullptr) {
    const auto token =
        options.cancellation->Register([self = shared_from_this(), id] { self->Cancel(id); });
    if (token < 0) {
      Cancel(id);
      return;
    }
    MutexLock lock(&mu_);
    if (!calls_.contains(id)) return;  // it has ended
    call->cancellation = options.cancellation;
    call->token = token;
  }
  socket->Send(Number(StreamFrame::kRecvTensor), id, request);
}

void TensorStreamClient::Stream::Cancel(uint64_t id) {
  std::shared_ptr<Call> call = Take(id);
  if (call == nullptr) return;
  if (const auto socket = this->socket()) socket->Send(Number(StreamFrame::kCancel), id, "");
  // Not here: `done` may end what is being cancelled.
  pool_->Schedule([call = std::move(call)] { call->done(Cancelled("RecvTensor was cancelled")); });
}

StatusOr<net::FrameTarget> TensorStreamClient::Stream::OnHeader(const net::FrameHeader& header) {
  net::FrameTarget target;
  switch (static_cast<StreamFrame>(header.kind)) {
    case StreamFrame::kHello:
    case StreamFrame::kPong:
      if (header.size != 0) return Internal("a greeting of ", header.size, " bytes");
      return target;
    case StreamFrame::kReply:
    case StreamFrame::kError: {
      MutexLock lock(&mu_);
      if (!calls_.contains(header.id)) target.where = net::FrameTarget::kNowhere;
      return target;
    }
    case StreamFrame::kContent: {
      MutexLock lock(&mu_);
      const auto it = calls_.find(header.id);
      if (it == calls_.end()) {
        target.where = net::FrameTarget::kNowhere;
        return target;
      }
      if (!it->second->tensor.is_valid()) return Internal("content without a head");
      target.where = net::FrameTarget::kTensor;
      target.tensor = it->second->tensor;
      target.offset = it->second->received;
      return target;
    }
    default:
      return Internal("a frame of an unknown kind: ", header.kind);
  }
}

Status TensorStreamClient::Stream::OnFrame(const net::FrameHeader& header, std::string message,
                                           net::EventLoop::Work* later) {
  switch (static_cast<StreamFrame>(header.kind)) {
    case StreamFrame::kHello:
      if (const auto client = client_.lock()) client->Greeted(shared_from_this());
      return OkStatus();
    case StreamFrame::kPong:
      return OkStatus();
    case StreamFrame::kReply:
      return OnReply(header.id, message, later);
    case StreamFrame::kContent:
      OnContent(header, later);
      return OkStatus();
    default:  // kError
      if (const auto call = Take(header.id)) {
        later->push_back([call, status = DecodeStreamError(message)] { call->End(status); });
      }
      return OkStatus();
  }
}

Status TensorStreamClient::Stream::OnReply(uint64_t id, const std::string& message,
                                           net::EventLoop::Work* later) {
  RecvTensorResult result;
  Tensor content;
  const Status status = DecodeStreamReply(message, &result, &content);
  std::shared_ptr<Call> call;
  {
    MutexLock lock(&mu_);
    const auto it = calls_.find(id);
    if (it == calls_.end()) return OkStatus();  // cancelled; its content goes nowhere
    if (it->second->tensor.is_valid()) return Internal("two replies to one call");
    if (status.ok()) *it->second->result = std::move(result);
    if (status.ok() && content.bytes() > 0) {
      it->second->tensor = std::move(content);
      return OkStatus();
    }
    call = std::move(it->second);
    calls_.erase(it);
  }
  later->push_back([call = std::move(call), status] { call->End(status); });
  return OkStatus();
}

void TensorStreamClient::Stream::OnContent(const net::FrameHeader& header,
                                           net::EventLoop::Work* later) {
  std::shared_ptr<Call> call;
  {
    MutexLock lock(&mu_);
    const auto it = calls_.find(header.id);
    if (it == calls_.end()) return;
    Call& receiving = *it->second;
    receiving.received += header.size;
    if (receiving.received < receiving.tensor.bytes()) return;
    receiving.result->tensor = std::move(receiving.tensor);
    call = std::move(it->second);
    calls_.erase(it);
  }
  later->push_back([call = std::move(call)] { call->End(OkStatus()); });
}

void TensorStreamClient::Stream::OnClosed(const Status& why) {
  const auto self = shared_from_this();
  const Status told = Unavailable("the connection for tensors was lost: ", why.message());
  absl::flat_hash_map<uint64_t, std::shared_ptr<Call>> calls;
  std::shared_ptr<net::FrameSocket> socket;
  {
    MutexLock lock(&mu_);
    why_closed_ = told;
    socket = std::move(socket_);
    calls.swap(calls_);
  }
  if (const auto client = client_.lock()) client->Lost(this, why);
  for (const auto& [id, call] : calls) call->End(told);
}

TensorStreamClient::TensorStreamClient(const StreamContext& context, const PeerPatience& patience,
                                       std::shared_ptr<PeerChannel> peer,
                                       grpc::CompletionQueue* queue, std::string name)
    : context_(context),
      patience_(patience),
      peer_(std::move(peer)),
      queue_(queue),
      name_(std::move(name)) {}

void TensorStreamClient::WithStream(std::function<void(std::shared_ptr<TensorStream>)> use) {
  std::shared_ptr<Stream> open;
  bool begins = false, waits = false;
  {
    MutexLock lock(&mu_);
    if (!is_opening_) {
      open = stream_;
      begins = open == nullptr && !is_closed_ && Clock::now() >= ask_again_;
      is_opening_ = begins;
    }
    waits = is_opening_;
    if (waits) waiting_.push_back(std::move(use));
  }
  if (begins) {
    Begin();
  } else if (!waits) {
    use(std::move(open));
  }
}

void TensorStreamClient::Begin() {
  CallOptions options;
  options.timeout = kOpenTime;
  auto peer = std::make_shared<std::string>();
  StartCall(
      peer_->Current(), queue_, kOpenStream, SerializeMessage(OpenStreamRequest()), options,
      [self = shared_from_this(), peer](Status status, grpc::ByteBuffer* bytes) {
        OpenStreamResponse response;
        if (status.ok() && (!ParseMessage(bytes, &response) || response.port() > 65535)) {
          status = Internal("its answer to OpenStream makes no sense");
        }
        self->Opened(status, AddressOfPeer(*peer), static_cast<int>(response.port()),
                     response.token());
      },
      peer.get());
}

void TensorStreamClient::Opened(const Status& status, const std::string& ip, int port,
                                const std::string& token) {
  if (absl::IsUnimplemented(status)) return Refused(OkStatus(), kWithoutStreams);
  if (!status.ok()) return Refused(OkStatus(), kAbsent);
  StatusOr<int> fd = net::StartConnect(ip, port);
  if (!fd.ok()) return Refused(fd.status(), kUnreachable);
  auto stream = std::make_shared<Stream>(weak_from_this(), context_.pool);
  StatusOr<std::shared_ptr<net::FrameSocket>> socket =
      net::FrameSocket::Open(context_.loop, *fd, stream);
  if (!socket.ok()) return Refused(socket.status(), kAbsent);
  bool is_closed = false;
  {
    MutexLock lock(&mu_);
    stream_ = stream;
    is_closed = is_closed_;
  }
  stream->Start(*socket, token);
  if (is_closed) return stream->Close(Unavailable("this server is shutting down"));
  context_.timers->RunAfter(kHelloTime, [weak = weak_from_this(), stream] {
    const auto client = weak.lock();
    if (client == nullptr) return;
    {
      MutexLock lock(&client->mu_);
      if (!client->is_opening_ || client->stream_ != stream) return;
    }
    stream->Close(DeadlineExceeded("no answer within ", kHelloTime.count(), " s"));
  });
}

void TensorStreamClient::Greeted(const std::shared_ptr<Stream>& stream) {
  std::vector<std::function<void(std::shared_ptr<TensorStream>)>> waiting;
  {
    MutexLock lock(&mu_);
    if (!is_opening_ || stream_ != stream) return;
    is_opening_ = false;
    waiting.swap(waiting_);
  }
  WatchForSilence(stream, 0, false);
  for (const auto& use : waiting) use(stream);
}

void TensorStreamClient::WatchForSilence(std::weak_ptr<Stream> stream, size_t had_received,
                                         bool has_asked) {
  context_.timers->RunAfter(has_asked ? patience_.answer : patience_.silence,
                            [weak = weak_from_this(), stream, had_received, has_asked] {
                              const auto self = weak.lock();
                              const auto watched = stream.lock();
                              if (self == nullptr || watched == nullptr) return;
                              const size_t received = watched->bytes_received();
                              const bool is_silent =
                                  watched->is_waiting() && received == had_received;
                              if (is_silent && has_asked) {
                                watched->Close(DeadlineExceeded("no sign of life"));
                                return;
                              }
                              if (is_silent) watched->Ping();
                              self->WatchForSilence(stream, received, is_silent);
                            });
}

void TensorStreamClient::Lost(const Stream* stream, const Status& why) {
  bool was_opening = false;
  {
    MutexLock lock(&mu_);
    if (stream_.get() != stream) return;
    was_opening = is_opening_;
    stream_ = nullptr;
  }
  if (was_opening) Refused(why, kUnreachable);
}

void TensorStreamClient::Refused(const Status& why, Clock::duration patience) {
  std::vector<std::function<void(std::shared_ptr<TensorStream>)>> waiting;
  bool warns = false;
  {
    MutexLock lock(&mu_);
    is_opening_ = false;
    stream_ = nullptr;
    ask_again_ = Clock::now() + patience;
    waiting.swap(waiting_);
    warns = !why.ok() && !has_warned_ && !is_closed_;
    if (warns) has_warned_ = true;
  }
  if (warns) {
    LogWarning(absl::StrCat("Tensors from ", name_,
                            " come through gRPC: its port for tensors cannot be ",
                            "reached: ", why.message()));
  }
  for (const auto& use : waiting) use(nullptr);
}

void TensorStreamClient::Close() {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    is_closed_ = true;
    stream = stream_;
  }
  if (stream != nullptr) stream->Close(Unavailable("this server is shutting down"));
}

std::string AddressOfPeer(const std::string& peer) {
  if (!absl::StartsWith(peer, "ipv4:") && !absl::StartsWith(peer, "ipv6:")) return "";
  std::string address =
      absl::StrReplaceAll(peer.substr(5), {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  address.resize(std::min(address.rfind(':'), address.size()));
  if (absl::StartsWith(address, "[") && absl::EndsWith(address, "]")) {
    address = address.substr(1, address.size() - 2);
  }
  return address;
}

}  // namespace tensorfleet::rpc
