// TCP sockets as our servers use them: never blocking, without delay, and closed when the other
// machine has not acknowledged what was sent for ten seconds, or a sign of life for half a minute.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/base/timer_queue.h"
#include "runtime/net/event_loop.h"

namespace tensorfleet::net {

// Begins to connect to a numeric IPv4 or IPv6 address; the descriptor is the caller's. That nobody
// listens shows when it is used. Errors: InvalidArgument for another kind of address; Unavailable.
StatusOr<int> StartConnect(const std::string& ip, int port);

// Accepts connections until it is closed. Thread-safe.
class Listener final : public EventLoop::Handler, public std::enable_shared_from_this<Listener> {
 public:
  // The descriptor is the callee's, which must not block.
  using OnConnection = std::function<void(int fd)>;
  // `host` is a name or a numeric address, "::" for all interfaces; port 0 is any free one. Errors:
  // InvalidArgument for a host that is not known; Unavailable when the port is taken.
  static StatusOr<std::shared_ptr<Listener>> Start(EventLoop* loop, TimerQueue* timers,
                                                   const std::string& host, int port,
                                                   OnConnection on_connection);
  ~Listener() override;
  int port() const { return port_; }
  // No more connections; one may be told of while this returns.
  void Close();

  void OnReady(uint32_t events) override;

 private:
  Listener(EventLoop* loop, TimerQueue* timers, int fd, int port, OnConnection on_connection)
      : loop_(loop),
        timers_(timers),
        fd_(fd),
        port_(port),
        on_connection_(std::move(on_connection)) {}
  void Arm();

  EventLoop* const loop_;
  TimerQueue* const timers_;
  const int fd_;
  const int port_;
  const OnConnection on_connection_;
  Mutex mu_;
  uint64_t registration_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tensorfleet::net
