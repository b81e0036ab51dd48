// A TCP proxy to a port of this machine that can stop passing on what it takes, as a stuck proxy
// or a network that lost a connection's state does: its clients see an open connection and no
// error. For tests only. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <thread>

#include "runtime/base/mutex.h"

namespace tensorfleet::rpc {

class SwallowingProxy {
 public:
  explicit SwallowingProxy(int target_port);
  ~SwallowingProxy();

  int port() const { return port_; }
  // Whatever comes on the connections that there are now goes nowhere, in both directions.
  void SwallowOpenConnections();
  // The same for the next one, from its first byte on.
  void SwallowNextConnection();
  // Of all that were made so far.
  int connections() const;
  // Waits until the target has answered so often: pieces that were passed on to clients since the
  // call. False when it has not within half a minute.
  bool AwaitAnswers(int64_t count);

 private:
  struct Pair {
    int client, server;
    bool is_swallowed;
  };
  void Loop();
  void Accept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // False when one end has hung up.
  bool Forward(const Pair& pair, int from, int to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int target_port_;
  int listener_ = -1, port_ = 0;
  int stop_[2] = {-1, -1};  // a pipe
  mutable Mutex mu_;
  std::list<Pair> pairs_ ABSL_GUARDED_BY(mu_);
  bool swallow_next_ ABSL_GUARDED_BY(mu_) = false;
  int connections_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t answers_ ABSL_GUARDED_BY(mu_) = 0;
  CondVar answered_;
  std::thread thread_;
};

}  // namespace tensorfleet::rpc
