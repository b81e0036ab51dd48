#include "runtime/rpc/poll_set.h"

#include <pthread.h>

namespace tensorfleet::rpc {

PollSet::PollSet(std::unique_ptr<grpc::CompletionQueue> queue, int num_threads)
    : num_threads_(num_threads), queue_(std::move(queue)) {
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back([this] { Loop(); });
    pthread_setname_np(threads_.back().native_handle(), "rpc");
  }
}

PollSet::~PollSet() {
  queue_->Shutdown();
  for (std::thread& thread : threads_) thread.join();
}

void PollSet::Loop() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    busy_.fetch_add(1, std::memory_order_relaxed);
    static_cast<Tag*>(tag)->Run(ok);
    busy_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace tensorfleet::rpc
