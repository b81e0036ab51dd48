// A few threads that wait for sockets to become ready. Each readiness is told to one thread only,
// and not again until the socket is armed anew: nobody is woken for work that another one does.
// Thread-safe.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace tensorfleet::net {

class EventLoop {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // `events` as epoll gives them: EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP.
    virtual void OnReady(uint32_t events) = 0;
  };
  using Work = std::vector<std::function<void()>>;
  // Runs work that may take long when no thread of the loop is left to wait.
  using Overflow = std::function<void(std::function<void()>)>;

  // Errors: ResourceExhausted when the process has no descriptors left.
  static StatusOr<std::unique_ptr<EventLoop>> Start(int num_threads, Overflow overflow);
  // Joins the threads. Handlers that are still there are forgotten.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Watches `fd` for nothing yet; keeps `handler` until Remove. The result names the registration.
  StatusOr<uint64_t> Add(int fd, std::shared_ptr<Handler> handler);
  // Wants the next readiness of these kinds; what was wanted before no longer counts.
  void Arm(int fd, uint64_t id, uint32_t events);
  // OnReady may still be running, on another thread, when this returns.
  void Remove(int fd, uint64_t id);

  // Runs the closures, on the calling thread of the loop if another one is there to wait for
  // sockets.
  void RunLater(Work work);

 private:
  EventLoop(int epoll, int wake, int num_threads, Overflow overflow);
  void Run();

  const int epoll_;
  const int wake_;  // readable when the threads are to end
  const int num_threads_;
  const Overflow overflow_;
  std::atomic<int> busy_{0};
  Mutex mu_;
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;  // 0 is wake_
  absl::flat_hash_map<uint64_t, std::shared_ptr<Handler>> handlers_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace tensorfleet::net
