// A few threads that take events from one gRPC completion queue and run their handlers. Calls that
// a server receives and calls that it makes share the queue, so that a reply is often handled by
// the thread that waits for it anyway.
#pragma once

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace tensorfleet::rpc {

// What a completion queue gives back. Its owner keeps it alive until Run was called.
class Tag {
 public:
  virtual void Run(bool ok) = 0;

 protected:
  ~Tag() = default;
};

class PollSet {
 public:
  // Starts `num_threads` threads.
  PollSet(std::unique_ptr<grpc::CompletionQueue> queue, int num_threads);
  // Shuts the queue down and waits for the events that are still under way: servers and calls must
  // have ended.
  ~PollSet();
  PollSet(const PollSet&) = delete;
  PollSet& operator=(const PollSet&) = delete;

  grpc::CompletionQueue* queue() { return queue_.get(); }
  // Whether no thread but the calling one is left to take events: long work then belongs elsewhere.
  bool is_last_poller() const { return busy_.load(std::memory_order_relaxed) >= num_threads_; }

 private:
  void Loop();

  const int num_threads_;
  std::atomic<int> busy_{0};
  const std::unique_ptr<grpc::CompletionQueue> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace tensorfleet::rpc
