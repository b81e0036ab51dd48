// Connections to other tasks' servers, one for each address, made when first used and kept.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/session/worker_interface.h"

namespace tensorfleet::rpc {

// A channel with our settings: no limit on messages below 2 GiB, and quick reconnection. Calls fail
// some 10 seconds after bytes were sent that the other machine has not acknowledged.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address);

class GrpcPeers final : public Peers {
 public:
  // The queue must be polled, and must outlive all calls.
  explicit GrpcPeers(grpc::CompletionQueue* queue) : queue_(queue) {}
  ~GrpcPeers() override;
  WorkerInterface* Worker(const std::string& address) override;

 private:
  grpc::CompletionQueue* const queue_;
  Mutex mu_;
  absl::flat_hash_map<std::string, std::unique_ptr<WorkerInterface>> workers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::rpc
