#include "runtime/net/event_loop.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/contain.h"
#include "runtime/base/log.h"

namespace tensorfleet::net {

StatusOr<std::unique_ptr<EventLoop>> EventLoop::Start(int num_threads, Overflow overflow) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) return ResourceExhausted("epoll_create1: ", std::strerror(errno));
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    ::close(epoll);
    return ResourceExhausted("eventfd: ", std::strerror(errno));
  }
  return std::unique_ptr<EventLoop>(new EventLoop(epoll, wake, num_threads, std::move(overflow)));
}

EventLoop::EventLoop(int epoll, int wake, int num_threads, Overflow overflow)
    : epoll_(epoll), wake_(wake), num_threads_(num_threads), overflow_(std::move(overflow)) {
  epoll_event event{};
  event.events = EPOLLIN;  // for every thread, and it stays readable
  event.data.u64 = 0;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back([this] { Run(); });
    pthread_setname_np(threads_.back().native_handle(), "net");
  }
}

EventLoop::~EventLoop() {
  const uint64_t one = 1;
  TFLEET_CHECK(::write(wake_, &one, sizeof(one)) == sizeof(one));
  for (std::thread& thread : threads_) thread.join();
  ::close(wake_);
  ::close(epoll_);
}

StatusOr<uint64_t> EventLoop::Add(int fd, std::shared_ptr<Handler> handler) {
  uint64_t id = 0;
  {
    MutexLock lock(&mu_);
    id = next_id_++;
    handlers_.emplace(id, std::move(handler));
  }
  epoll_event event{};
  event.events = EPOLLONESHOT;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    const int error = errno;
    MutexLock lock(&mu_);
    handlers_.erase(id);
    return ResourceExhausted("epoll_ctl: ", std::strerror(error));
  }
  return id;
}

void EventLoop::Arm(int fd, uint64_t id, uint32_t events) {
  epoll_event event{};
  event.events = events | EPOLLONESHOT;
  event.data.u64 = id;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::Remove(int fd, uint64_t id) {
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  std::shared_ptr<Handler> last;  // not destroyed under the lock
  MutexLock lock(&mu_);
  const auto it = handlers_.find(id);
  if (it == handlers_.end()) return;
  last = std::move(it->second);
  handlers_.erase(it);
}

void EventLoop::RunLater(Work work) {
  for (std::function<void()>& closure : work) {
    if (overflow_ != nullptr && busy_.load(std::memory_order_relaxed) >= num_threads_) {
      overflow_(std::move(closure));
    } else {
      closure();
    }
  }
}

void EventLoop::Run() {
  epoll_event event;
  while (true) {
    const int ready = ::epoll_wait(epoll_, &event, 1, -1);
    if (ready < 0 && errno != EINTR) return;
    if (ready <= 0) continue;
    const uint64_t id = event.data.u64;  // which lies unaligned there
    if (id == 0) return;
    std::shared_ptr<Handler> handler;
    {
      MutexLock lock(&mu_);
      const auto it = handlers_.find(id);
      if (it != handlers_.end()) handler = it->second;
    }
    if (handler == nullptr) continue;
    busy_.fetch_add(1, std::memory_order_relaxed);
    const Status thrown = Contained([&] { handler->OnReady(event.events); });
    if (!thrown.ok()) LogError("An event of a socket was dropped", {{"error", thrown.ToString()}});
    busy_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace tensorfleet::net
