// One connection of tensor_stream.h, at the side that wants tensors. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/net/frame_socket.h"
#include "runtime/net/peer_memory.h"
#include "runtime/rpc/tensor_stream/tensor_stream.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet::rpc {

class ClientStream final : public net::FrameSocket::Receiver,
                           public std::enable_shared_from_this<ClientStream> {
 public:
  // What becomes of the connection: the server has said Hello; it is over, which is told once.
  struct Events {
    std::function<void()> greeted;
    std::function<void(const Status& why)> lost;
  };
  explicit ClientStream(ThreadPool* pool) : pool_(pool) {}

  // Says Hello on the socket, whose receiver this must be. `memory` is null where the server's
  // cannot be read.
  void Start(std::shared_ptr<net::FrameSocket> socket, std::unique_ptr<net::PeerMemory> memory,
             Events events, const std::string& token);
  void Close(const Status& why);

  // As WorkerInterface::RecvTensor, but for the options' timeout. Unavailable when the connection
  // breaks.
  void RecvTensor(const CallOptions& options, const RecvTensorArgs& args, RecvTensorResult* result,
                  WorkerInterface::Done done);

  // Asks for something to come back.
  void Ping();
  // All that has come so far.
  size_t bytes_received() const;
  bool is_waiting() const;

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
  void Send(StreamFrame kind, uint64_t id, absl::string_view message = "") const;
  std::shared_ptr<Call> Take(uint64_t id);
  void Cancel(uint64_t id);
  Status OnReply(uint64_t id, const std::string& message, net::EventLoop::Work* later);
  Status OnOffer(uint64_t id, absl::string_view message, net::EventLoop::Work* later);
  void ReadOffered(uint64_t id, uint64_t address, RecvTensorResult result, Tensor content);
  void OnContent(const net::FrameHeader& header, net::EventLoop::Work* later);

  ThreadPool* const pool_;
  std::unique_ptr<net::PeerMemory> memory_;  // set by Start
  Events events_;                            // likewise
  std::atomic<bool> reads_memory_{false};
  mutable Mutex mu_;
  std::shared_ptr<net::FrameSocket> socket_ ABSL_GUARDED_BY(mu_);  // null once closed
  Status why_closed_ ABSL_GUARDED_BY(mu_);
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Call>> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::rpc
