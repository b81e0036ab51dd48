#include "runtime/rpc/tensor_stream/client_stream.h"

#include <cstring>
#include <utility>

#include "runtime/rpc/wire/wire_writer.h"
#include "runtime/rpc/wire/worker_codec.h"

namespace tensorfleet::rpc {

void ClientStream::Start(std::shared_ptr<net::FrameSocket> socket,
                         std::unique_ptr<net::PeerMemory> memory, Events events,
                         const std::string& token) {
  memory_ = std::move(memory);
  events_ = std::move(events);
  reads_memory_.store(memory_ != nullptr);
  {
    MutexLock lock(&mu_);
    socket_ = socket;
  }
  Send(StreamFrame::kHello, 0, token);
  socket->StartReading();
}

void ClientStream::Close(const Status& why) {
  if (const auto socket = this->socket()) socket->Close(why);
}

void ClientStream::Ping() { Send(StreamFrame::kPing, 0); }

size_t ClientStream::bytes_received() const {
  const auto socket = this->socket();
  return socket == nullptr ? 0 : socket->bytes_received();
}

bool ClientStream::is_waiting() const {
  MutexLock lock(&mu_);
  return !calls_.empty();
}

void ClientStream::Send(StreamFrame kind, uint64_t id, absl::string_view message) const {
  if (const auto socket = this->socket()) socket->Send(static_cast<uint32_t>(kind), id, message);
}

std::shared_ptr<ClientStream::Call> ClientStream::Take(uint64_t id) {
  MutexLock lock(&mu_);
  const auto it = calls_.find(id);
  if (it == calls_.end()) return nullptr;
  std::shared_ptr<Call> call = std::move(it->second);
  calls_.erase(it);
  return call;
}

void ClientStream::RecvTensor(const CallOptions& options, const RecvTensorArgs& args,
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
  Send(reads_memory_.load(std::memory_order_relaxed) ? StreamFrame::kRecvOrRead
                                                     : StreamFrame::kRecvTensor,
       id, request);
}

void ClientStream::Cancel(uint64_t id) {
  std::shared_ptr<Call> call = Take(id);
  if (call == nullptr) return;
  Send(StreamFrame::kCancel, id);
  // Not here: `done` may end what is being cancelled.
  pool_->Schedule([call = std::move(call)] { call->done(Cancelled("RecvTensor was cancelled")); });
}

StatusOr<net::FrameTarget> ClientStream::OnHeader(const net::FrameHeader& header) {
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
    case StreamFrame::kOffer:
      if (memory_ == nullptr) return Internal("an offer that was not asked for");
      return target;
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

Status ClientStream::OnFrame(const net::FrameHeader& header, std::string message,
                             net::EventLoop::Work* later) {
  switch (static_cast<StreamFrame>(header.kind)) {
    case StreamFrame::kHello:
      events_.greeted();
      return OkStatus();
    case StreamFrame::kPong:
      return OkStatus();
    case StreamFrame::kReply:
      return OnReply(header.id, message, later);
    case StreamFrame::kOffer:
      return OnOffer(header.id, message, later);
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

Status ClientStream::OnReply(uint64_t id, const std::string& message, net::EventLoop::Work* later) {
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

Status ClientStream::OnOffer(uint64_t id, absl::string_view message, net::EventLoop::Work* later) {
  if (message.size() < kOfferAddressBytes) return Internal("an offer of nothing");
  uint64_t address = 0;
  std::memcpy(&address, message.data(), kOfferAddressBytes);
  message.remove_prefix(kOfferAddressBytes);
  RecvTensorResult result;
  Tensor content;
  const Status status = DecodeStreamReply(std::string(message), &result, &content);
  if (status.ok() && !content.is_valid()) return Internal("an offer of nothing");
  later->push_back([self = shared_from_this(), id, address, status, result = std::move(result),
                    content = std::move(content)]() mutable {
    if (status.ok()) {
      self->ReadOffered(id, address, std::move(result), std::move(content));
      return;
    }
    self->Send(StreamFrame::kTaken, id);
    if (const auto call = self->Take(id)) call->End(status);
  });
  return OkStatus();
}

// Nobody else knows of the tensor until it is whole: what the server may say of the call meanwhile
// does not meet it, nor does a call that is cancelled.
void ClientStream::ReadOffered(uint64_t id, uint64_t address, RecvTensorResult result,
                               Tensor content) {
  bool is_wanted = false;
  {
    MutexLock lock(&mu_);
    is_wanted = calls_.contains(id);
  }
  if (is_wanted && !memory_->Read(address, content.bytes(), content.mutable_raw())) {
    reads_memory_.store(false, std::memory_order_relaxed);
    Send(StreamFrame::kSendIt, id);
    return;
  }
  Send(StreamFrame::kTaken, id);
  const std::shared_ptr<Call> call = Take(id);
  if (call == nullptr) return;
  *call->result = std::move(result);
  call->result->tensor = std::move(content);
  call->End(OkStatus());
}

void ClientStream::OnContent(const net::FrameHeader& header, net::EventLoop::Work* later) {
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

void ClientStream::OnClosed(const Status& why) {
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
  events_.lost(why);
  for (const auto& [id, call] : calls) call->End(told);
}

}  // namespace tensorfleet::rpc
