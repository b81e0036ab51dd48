// How full the queues of this process are, for its metrics. Queues are kernels' business and come
// and go with sessions: each lists itself while it lives. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"

namespace tensorfleet {

struct QueueLevel {
  std::string name;
  std::string kind;  // "FIFOQueue"
  int64_t elements = 0;
  int64_t capacity = -1;  // below 0: no limit
  int64_t enqueues_waiting = 0;
  int64_t dequeues_waiting = 0;
};

class QueueLevels {
 public:
  // Of this process.
  static QueueLevels& All();

  // `read` may be called on any thread, until Remove with the same `queue` has returned; it must
  // not call back into here.
  void Add(const void* queue, std::function<QueueLevel()> read);
  void Remove(const void* queue);
  // By name and kind. Queues that agree in both (of other devices or sessions) are added up.
  std::vector<QueueLevel> Read() const;

 private:
  mutable Mutex mu_;
  absl::flat_hash_map<const void*, std::function<QueueLevel()>> queues_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
