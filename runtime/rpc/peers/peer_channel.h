// The way to one peer: a connection that is replaced by a new one when it takes calls and answers
// none, as a stuck proxy's or a half-dead network's does. TCP sees nothing wrong with such a one,
// and HTTP/2 pings are no help: TensorFlow's own servers hang up on those that come more often than
// every five minutes. So while calls wait in silence the peer is asked for its status, which it
// answers at once however busy it is. Thread-safe.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/base/timer_queue.h"

namespace tensorfleet::rpc {

// One connection, kept alive by the calls on it.
struct Connection {
  explicit Connection(std::shared_ptr<grpc::Channel> c) : channel(std::move(c)) {}

  const std::shared_ptr<grpc::Channel> channel;
  // Cancelled with Unavailable when it is given up: ends the calls that have no deadline.
  CancellationManager given_up;
  std::atomic<int64_t> waiting{0};  // calls without a deadline that are under way
  std::atomic<int64_t> ended{0};    // and those that have ended
};

struct PeerPatience {
  TimerQueue* timers = nullptr;  // null: silence is not noticed; must outlive the channel
  // When no call has ended for one to two such periods, the peer is asked for its status.
  std::chrono::milliseconds silence{5'000};
  // How long it may take to answer.
  std::chrono::milliseconds answer{10'000};
};

class PeerChannel : public std::enable_shared_from_this<PeerChannel> {
 public:
  // The queue must be polled until Stop has returned, and outlive all calls.
  PeerChannel(std::string address, grpc::CompletionQueue* queue, const PeerPatience& patience);

  // Begins to watch for silence. Once.
  void Start();
  // Begins no calls of its own any more and cancels the one that may be under way.
  void Stop();

  std::shared_ptr<Connection> Current();
  // Ends the calls on `silent` that have no deadline as Unavailable; later ones, which ask for
  // Current, get a new connection.
  void GiveUp(const std::shared_ptr<Connection>& silent);

 private:
  void Look();
  void AskForStatus(const std::shared_ptr<Connection>& connection);

  const std::string address_;
  grpc::CompletionQueue* const queue_;
  const PeerPatience patience_;
  CancellationManager stopping_;
  Mutex mu_;
  std::shared_ptr<Connection> current_ ABSL_GUARDED_BY(mu_);
  bool is_stopped_ ABSL_GUARDED_BY(mu_) = false;
  // What the last look has seen of `current_`.
  bool was_waiting_ ABSL_GUARDED_BY(mu_) = false;
  int64_t had_ended_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet::rpc
