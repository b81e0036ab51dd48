// The side of tensor_stream.h that wants tensors: of one other server. Thread-safe.
#pragma once

#include <grpcpp/completion_queue.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/rpc/peers/peer_channel.h"
#include "runtime/rpc/tensor_stream/client_stream.h"
#include "runtime/rpc/tensor_stream/tensor_stream.h"

namespace tensorfleet {
class OpenStreamResponse;
}

namespace tensorfleet::rpc {

class TensorStreamClient : public std::enable_shared_from_this<TensorStreamClient> {
 public:
  // `name` is the server's address as users know it, for the log. A connection on which nothing
  // comes back for as long as `patience` says is given up.
  TensorStreamClient(const StreamContext& context, const PeerPatience& patience,
                     std::shared_ptr<PeerChannel> peer, grpc::CompletionQueue* queue,
                     std::string name);

  // Calls `use` with a stream on which the server has said Hello, as soon as there is one, or with
  // null when the server has none that can be reached, which is asked again only a while later.
  void WithStream(std::function<void(std::shared_ptr<ClientStream>)> use);
  // What is under way fails with Unavailable, and there will be no more streams.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;
  void Begin();
  void Opened(const Status& status, const std::string& ip, const OpenStreamResponse& where);
  void Greeted(const ClientStream* stream);
  void Lost(const ClientStream* stream, const Status& why);
  // While the stream is there.
  void WatchForSilence(std::weak_ptr<ClientStream> stream, size_t had_received, bool has_asked);
  // Without a stream for a while.
  void Refused(const Status& why, Clock::duration patience);

  const StreamContext context_;
  const PeerPatience patience_;
  const std::shared_ptr<PeerChannel> peer_;
  grpc::CompletionQueue* const queue_;
  const std::string name_;
  Mutex mu_;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool is_opening_ ABSL_GUARDED_BY(mu_) = false;
  bool has_warned_ ABSL_GUARDED_BY(mu_) = false;
  Clock::time_point ask_again_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<ClientStream> stream_ ABSL_GUARDED_BY(mu_);  // greeted, once is_opening_ is false
  std::vector<std::function<void(std::shared_ptr<ClientStream>)>> waiting_ ABSL_GUARDED_BY(mu_);
};

// The numeric address in what gRPC says of a call's peer: "ipv4:10.0.0.1:2222",
// "ipv6:%5B::1%5D:2222". Empty for another kind of peer.
std::string AddressOfPeer(const std::string& peer);

}  // namespace tensorfleet::rpc
