// Connections to other tasks' servers, one for each address, made when first used and kept while
// somebody holds the worker.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/rpc/peers/peer_channel.h"
#include "runtime/rpc/tensor_stream/tensor_stream_client.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet::rpc {

// A connection of its own with our settings: no limit on messages below 2 GiB, and quick
// reconnection. Calls fail some 10 seconds after bytes were sent that the other machine has not
// acknowledged.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address);

class GrpcPeers final : public Peers {
 public:
  // The queue must be polled, and must outlive all calls; so must what `streams` points to. Null
  // pointers there: tensors come through gRPC.
  explicit GrpcPeers(grpc::CompletionQueue* queue, const PeerPatience& patience = {},
                     const StreamContext& streams = {})
      : queue_(queue), patience_(patience), streams_(streams) {}
  ~GrpcPeers() override;
  // Before the queue and the streams' loop end: no peer is asked for signs of life any more, and
  // tensors that are being fetched fail.
  void Stop();
  std::shared_ptr<WorkerInterface> Worker(const std::string& address) override;
  void AskForSession(const CallOptions& options, const std::string& address,
                     const std::string& session_handle, WorkerInterface::Done done) override;
  // Hangs up on those that nobody held, now and at the last such call.
  void DropUnused();

 private:
  struct Peer {
    std::shared_ptr<PeerChannel> channel;
    std::shared_ptr<TensorStreamClient> streams;
    std::shared_ptr<WorkerInterface> worker;
    bool was_unused = false;
    void HangUp() const;
  };
  Peer& Find(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  grpc::CompletionQueue* const queue_;
  const PeerPatience patience_;
  const StreamContext streams_;
  Mutex mu_;
  absl::flat_hash_map<std::string, Peer> peers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::rpc
