// What a master has prepared for a signature: the session's graph cut down to what it needs,
// rewritten, partitioned, and registered with the workers that take part. Immutable once ready. Its
// owners are the session's cache, the callable, and the runs that use it; with the last of them the
// graphs at the workers go. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/place/prune.h"
#include "runtime/session/master/graph_registration.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet {

// A worker as one session knows it.
struct SessionTask {
  std::string name;  // "/job:ps/replica:0/task:0", in the session's names
  std::shared_ptr<WorkerInterface> worker;
  bool is_local = false;
  bool is_ours = false;                   // a server of ours, not TensorFlow's
  std::vector<DeviceAttributes> devices;  // in the session's names
};

class PreparedGraph {
 public:
  struct Part {
    const SessionTask* task = nullptr;
    std::unique_ptr<GraphRegistration> registration;
    // What this part makes for the master's own and returns in its reply, which saves a round trip.
    // Empty when the values are fetched where they are needed.
    std::vector<std::string> reply_keys;
    std::unique_ptr<Graph> graph;  // until it is registered
  };

  explicit PreparedGraph(Signature signature) : signature_(std::move(signature)) {}

  const Signature& signature() const { return signature_; }
  // The next ones only once WhenReady has called back with OK.
  const std::vector<DType>& feed_types() const { return feed_types_; }
  const std::vector<DType>& fetch_types() const { return fetch_types_; }
  const std::vector<Part>& parts() const { return parts_; }
  // All parts' reply_keys.
  const std::vector<std::string>& awaited_keys() const { return awaited_keys_; }
  // Of a graph for partial runs: the positions of the feeds that fetch i needs.
  const std::vector<std::vector<int>>& fetch_needs() const { return fetch_needs_; }
  // What its steps' ids are counted under, together with those of other masters; 0 without
  // collectives.
  int64_t collective_graph_key() const { return collective_graph_key_; }
  // About what all workers together keep for it.
  int64_t bytes() const { return bytes_; }

  bool is_ready() const { return ready_.load(std::memory_order_acquire); }
  // What the preparation ended with; only when ready.
  const Status& status() const { return status_; }

  // Counts one more that waits for the graph. False when it has to be prepared anew: it was given
  // up, or it failed for a reason that may be gone by now.
  bool Join();
  // One that has joined does not wait any longer. After the last one the preparation is cancelled.
  void Leave();
  // Calls back at once when ready.
  void WhenReady(std::function<void()> callback);

  // For the one who prepares it.
  struct Contents {
    std::vector<DType> feed_types, fetch_types;
    std::vector<Part> parts;
    std::vector<std::vector<int>> fetch_needs;
    int64_t bytes = 0;
    int64_t collective_graph_key = 0;
  };
  void SetReady(Status status, Contents contents);
  // Cancelled when nobody waits for the graph any more.
  CancellationManager* cancellation() { return &cancellation_; }

 private:
  const Signature signature_;
  std::vector<DType> feed_types_, fetch_types_;
  std::vector<Part> parts_;
  std::vector<std::string> awaited_keys_;
  std::vector<std::vector<int>> fetch_needs_;
  int64_t bytes_ = 0;
  int64_t collective_graph_key_ = 0;
  Status status_;
  std::atomic<bool> ready_{false};
  CancellationManager cancellation_;
  Mutex mu_;
  int waiters_ ABSL_GUARDED_BY(mu_) = 0;
  bool was_given_up_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::function<void()>> waiting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
