#include "runtime/rpc/peers/peer_channel.h"

#include <utility>

#include "proto/worker.pb.h"
#include "runtime/base/log.h"
#include "runtime/rpc/peers/channels.h"
#include "runtime/rpc/peers/client_call.h"
#include "runtime/rpc/wire/wire_reader.h"

namespace tensorfleet::rpc {
namespace {

std::shared_ptr<Connection> Connect(const std::string& address) {
  return std::make_shared<Connection>(MakeChannel(address));
}

}  // namespace

PeerChannel::PeerChannel(std::string address, grpc::CompletionQueue* queue,
                         const PeerPatience& patience)
    : address_(std::move(address)),
      queue_(queue),
      patience_(patience),
      current_(Connect(address_)) {}

void PeerChannel::Start() {
  if (patience_.timers == nullptr) return;
  patience_.timers->RunAfter(patience_.silence, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Look();
  });
}

void PeerChannel::Stop() {
  {
    MutexLock lock(&mu_);
    is_stopped_ = true;
  }
  stopping_.StartCancel();
}

std::shared_ptr<Connection> PeerChannel::Current() {
  MutexLock lock(&mu_);
  return current_;
}

void PeerChannel::Look() {
  {
    // Until the call has begun: after Stop none may.
    MutexLock lock(&mu_);
    if (is_stopped_) return;
    const int64_t ended = current_->ended.load();
    const bool is_waiting = current_->waiting.load() > 0;
    if (is_waiting && was_waiting_ && ended == had_ended_) AskForStatus(current_);
    was_waiting_ = is_waiting;
    had_ended_ = ended;
  }
  Start();
}

void PeerChannel::AskForStatus(const std::shared_ptr<Connection>& connection) {
  CallOptions options;
  options.timeout = patience_.answer;
  options.cancellation = &stopping_;
  StartCall(connection, queue_, "/tensorflow.WorkerService/GetStatus",
            SerializeMessage(tensorflow::GetStatusRequest()), options,
            [self = shared_from_this(), connection](const Status& status, grpc::ByteBuffer*) {
              if (absl::IsDeadlineExceeded(status)) self->GiveUp(connection);
            });
}

void PeerChannel::GiveUp(const std::shared_ptr<Connection>& silent) {
  // Otherwise it never came to be: the peer is not up yet.
  const bool was_ready = silent->channel->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
  {
    MutexLock lock(&mu_);
    if (current_ == silent) {
      current_ = Connect(address_);
      was_waiting_ = false;
    }
  }
  if (was_ready && !silent->given_up.is_cancelled()) {
    LogWarning("A peer's connection takes calls and answers none: it is given up",
               {{"address", address_}, {"calls", silent->waiting.load()}});
  }
  silent->given_up.StartCancel(Unavailable("no sign of life from ", address_,
                                           ": the connection takes calls but ",
                                           "nothing comes back"));
}

}  // namespace tensorfleet::rpc
