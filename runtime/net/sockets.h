// Sockets as our servers use them: never blocking; those to other machines without delay, and
// closed when the other one has not acknowledged what was sent for ten seconds, or a sign of life
// for half a minute. Processes of one machine (one network namespace, to be exact) reach each other
// by names too, which costs less: abstract addresses of Unix sockets.
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

// Connects to the process of this machine that listens by this name; the descriptor is the
// caller's. Errors: Unavailable when there is none.
StatusOr<int> ConnectLocally(const std::string& name);

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
  // Listens for this machine only, by a name that nobody else has. Errors: Unavailable.
  static StatusOr<std::shared_ptr<Listener>> StartLocally(EventLoop* loop, TimerQueue* timers,
                                                          OnConnection on_connection);
  ~Listener() override;
  int port() const { return port_; }                 // 0: it listens by a name
  const std::string& name() const { return name_; }  // empty: it listens at a port
  // No more connections; one may be told of while this returns.
  void Close();

  void OnReady(uint32_t events) override;

 private:
  Listener(EventLoop* loop, TimerQueue* timers, int fd, int port, std::string name,
           OnConnection on_connection)
      : loop_(loop),
        timers_(timers),
        fd_(fd),
        port_(port),
        name_(std::move(name)),
        on_connection_(std::move(on_connection)) {}
  static StatusOr<std::shared_ptr<Listener>> Started(std::shared_ptr<Listener> listener);
  void Arm();

  EventLoop* const loop_;
  TimerQueue* const timers_;
  const int fd_;
  const int port_;
  const std::string name_;
  const OnConnection on_connection_;
  Mutex mu_;
  uint64_t registration_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tensorfleet::net
