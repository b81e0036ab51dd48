// A step that a master has prepared: the session's graph cut down to what the step needs,
// rewritten, partitioned, and registered with the workers that take part. Immutable once ready.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/place/prune.h"
#include "runtime/session/worker_interface.h"

namespace tensorfleet {

// A worker as one session knows it.
struct SessionTask {
  std::string name;  // "/job:ps/replica:0/task:0", in the session's names
  WorkerInterface* worker = nullptr;
  bool is_local = false;
  std::vector<DeviceAttributes> devices;  // in the session's names
};

class CompiledStep {
 public:
  struct Part {
    const SessionTask* task = nullptr;
    std::string graph_handle;
    // What this part makes for the master's own and returns in its reply, which saves a round trip.
    // Empty when the values are fetched where they are needed.
    std::vector<std::string> reply_keys;
    std::unique_ptr<Graph> graph;  // until it is registered
  };

  explicit CompiledStep(StepSignature signature) : signature_(std::move(signature)) {}

  const StepSignature& signature() const { return signature_; }
  // The next ones only once WhenReady has called back with OK.
  const std::vector<DType>& feed_types() const { return feed_types_; }
  const std::vector<DType>& fetch_types() const { return fetch_types_; }
  const std::vector<Part>& parts() const { return parts_; }
  // All parts' reply_keys.
  const std::vector<std::string>& awaited_keys() const { return awaited_keys_; }
  // Of a step for partial runs: the positions of the feeds that fetch i needs.
  const std::vector<std::vector<int>>& fetch_needs() const { return fetch_needs_; }

  bool is_ready() const { return ready_.load(std::memory_order_acquire); }
  // What the preparation ended with; only when ready.
  const Status& status() const { return status_; }
  // Calls back at once when ready.
  void WhenReady(std::function<void()> callback);

  // For the one who prepares it.
  struct Contents {
    std::vector<DType> feed_types, fetch_types;
    std::vector<Part> parts;
    std::vector<std::vector<int>> fetch_needs;
  };
  void SetReady(Status status, Contents contents);

 private:
  const StepSignature signature_;
  std::vector<DType> feed_types_, fetch_types_;
  std::vector<Part> parts_;
  std::vector<std::string> awaited_keys_;
  std::vector<std::vector<int>> fetch_needs_;
  Status status_;
  std::atomic<bool> ready_{false};
  Mutex mu_;
  std::vector<std::function<void()>> waiting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
