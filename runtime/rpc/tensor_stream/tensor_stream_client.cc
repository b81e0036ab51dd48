#include "runtime/rpc/tensor_stream/tensor_stream_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "proto/tensorfleet/transfer.pb.h"
#include "runtime/base/log.h"
#include "runtime/base/timer_queue.h"
#include "runtime/net/frame_socket.h"
#include "runtime/net/peer_memory.h"
#include "runtime/net/sockets.h"
#include "runtime/rpc/peers/client_call.h"
#include "runtime/rpc/tensor_stream/client_stream.h"
#include "runtime/rpc/wire/wire_reader.h"

namespace tensorfleet::rpc {
namespace {

constexpr char kOpenStream[] = "/tensorfleet.TransferService/OpenStream";
constexpr auto kOpenTime = std::chrono::milliseconds(5000);
constexpr auto kHelloTime = std::chrono::seconds(2);
// Until a server is asked again: that had no streams; that was not there; whose port was closed.
constexpr auto kWithoutStreams = std::chrono::seconds(60);
constexpr auto kAbsent = std::chrono::milliseconds(200);
constexpr auto kUnreachable = std::chrono::seconds(60);

// A server of this machine by its name, another by its port.
StatusOr<int> Connect(const std::string& ip, const OpenStreamResponse& where) {
  if (!where.local_name().empty()) {
    StatusOr<int> fd = net::ConnectLocally(where.local_name());
    if (fd.ok()) return fd;
  }
  return net::StartConnect(ip, static_cast<int>(where.port()));
}

}  // namespace

TensorStreamClient::TensorStreamClient(const StreamContext& context, const PeerPatience& patience,
                                       std::shared_ptr<PeerChannel> peer,
                                       grpc::CompletionQueue* queue, std::string name)
    : context_(context),
      patience_(patience),
      peer_(std::move(peer)),
      queue_(queue),
      name_(std::move(name)) {}

void TensorStreamClient::WithStream(std::function<void(std::shared_ptr<ClientStream>)> use) {
  std::shared_ptr<ClientStream> open;
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
        self->Opened(status, AddressOfPeer(*peer), response);
      },
      peer.get());
}

void TensorStreamClient::Opened(const Status& status, const std::string& ip,
                                const OpenStreamResponse& where) {
  if (absl::IsUnimplemented(status)) return Refused(OkStatus(), kWithoutStreams);
  if (!status.ok()) return Refused(OkStatus(), kAbsent);
  StatusOr<int> fd = Connect(ip, where);
  if (!fd.ok()) return Refused(fd.status(), kUnreachable);
  auto memory = net::PeerMemory::Of(*fd);
  auto stream = std::make_shared<ClientStream>(context_.pool);
  StatusOr<std::shared_ptr<net::FrameSocket>> socket =
      net::FrameSocket::Open(context_.loop, *fd, stream);
  if (!socket.ok()) return Refused(socket.status(), kAbsent);
  bool is_closed = false;
  {
    MutexLock lock(&mu_);
    stream_ = stream;
    is_closed = is_closed_;
  }
  const auto lost = [weak = weak_from_this(), id = stream.get()](const Status& why) {
    if (const auto client = weak.lock()) client->Lost(id, why);
  };
  const auto greeted = [weak = weak_from_this(), id = stream.get()] {
    if (const auto client = weak.lock()) client->Greeted(id);
  };
  stream->Start(*socket, std::move(memory), {greeted, lost}, where.token());
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

void TensorStreamClient::Greeted(const ClientStream* greeted) {
  std::shared_ptr<ClientStream> stream;
  std::vector<std::function<void(std::shared_ptr<ClientStream>)>> waiting;
  {
    MutexLock lock(&mu_);
    if (!is_opening_ || stream_.get() != greeted) return;
    stream = stream_;
    is_opening_ = false;
    waiting.swap(waiting_);
  }
  WatchForSilence(stream, 0, false);
  for (const auto& use : waiting) use(stream);
}

void TensorStreamClient::WatchForSilence(std::weak_ptr<ClientStream> stream, size_t had_received,
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

void TensorStreamClient::Lost(const ClientStream* stream, const Status& why) {
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
  std::vector<std::function<void(std::shared_ptr<ClientStream>)>> waiting;
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
  std::shared_ptr<ClientStream> stream;
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
