#include "runtime/rpc/poll_set.h"

#include <pthread.h>

#include "runtime/base/contain.h"
#include "runtime/base/log.h"

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
    const Status thrown = Contained([&] { static_cast<Tag*>(tag)->Run(ok); });
    if (!thrown.ok()) LogError("An event of gRPC's was dropped", {{"error", thrown.ToString()}});
    busy_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace tensorfleet::rpc
