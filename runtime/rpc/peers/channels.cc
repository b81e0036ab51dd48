#include "runtime/rpc/peers/channels.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/master.pb.h"
#include "runtime/rpc/peers/client_call.h"
#include "runtime/rpc/peers/remote_worker.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/session/metrics.h"

namespace tensorfleet::rpc {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(-1);
  args.SetMaxSendMessageSize(-1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A session waits for a peer that restarts: it is tried, and looked up, a few times a second.
  // (Calls that do not wait fail as soon as one try has failed.)
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 250);
  args.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 250);
  // In spite of its name: how long one try may take before the next.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  // No more often than a stock server puts up with (calls that wait ask by themselves, see
  // peer_channel.h).
  // The timeout is also how long sent bytes may go without the other machine's acknowledgement.
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 310'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  args.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 4 << 20);
  // Channels to one address share a connection otherwise, and one that replaces another must not.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(absl::StrCat("dns:///", address),
                                   grpc::InsecureChannelCredentials(), args);
}

GrpcPeers::~GrpcPeers() {
  Stop();
  MutexLock lock(&mu_);
  ServerMetrics().peer_channels -= static_cast<int64_t>(peers_.size());
}

void GrpcPeers::Peer::HangUp() const {
  channel->Stop();
  if (streams != nullptr) streams->Close();
}

void GrpcPeers::Stop() {
  std::vector<Peer> all;
  {
    MutexLock lock(&mu_);
    for (const auto& [address, peer] : peers_) all.push_back(peer);
  }
  // Not under the lock: what ends may ask for other workers.
  for (const Peer& peer : all) peer.HangUp();
}

void GrpcPeers::DropUnused() {
  std::vector<Peer> unused;  // destroyed outside the lock
  {
    MutexLock lock(&mu_);
    for (auto it = peers_.begin(); it != peers_.end();) {
      Peer& peer = it->second;
      const bool is_unused = peer.worker.use_count() == 1;
      if (is_unused && peer.was_unused) {
        unused.push_back(std::move(peer));
        peers_.erase(it++);
        --ServerMetrics().peer_channels;
      } else {
        peer.was_unused = is_unused;
        ++it;
      }
    }
  }
  for (const Peer& peer : unused) peer.HangUp();
}

GrpcPeers::Peer& GrpcPeers::Find(const std::string& address) {
  Peer& peer = peers_[address];
  if (peer.worker == nullptr) {
    peer.channel = std::make_shared<PeerChannel>(address, queue_, patience_);
    peer.channel->Start();
    if (streams_.loop != nullptr) {
      peer.streams =
          std::make_shared<TensorStreamClient>(streams_, patience_, peer.channel, queue_, address);
    }
    peer.worker = std::make_shared<RemoteWorker>(peer.channel, queue_, peer.streams);
    ++ServerMetrics().peer_channels;
  }
  peer.was_unused = false;
  return peer;
}

std::shared_ptr<WorkerInterface> GrpcPeers::Worker(const std::string& address) {
  MutexLock lock(&mu_);
  return Find(address).worker;
}

void GrpcPeers::AskForSession(const CallOptions& options, const std::string& address,
                              const std::string& session_handle, WorkerInterface::Done done) {
  std::shared_ptr<PeerChannel> channel;
  {
    MutexLock lock(&mu_);
    channel = Find(address).channel;
  }
  tensorflow::ListDevicesRequest request;
  request.set_session_handle(session_handle);
  StartCall(channel->Current(), queue_, "/tensorflow.MasterService/ListDevices",
            SerializeMessage(request), options,
            [done = std::move(done)](Status status, grpc::ByteBuffer*) {
              if (absl::IsInvalidArgument(status)) status = NotFound(status.message());
              done(std::move(status));
            });
}

}  // namespace tensorfleet::rpc
