// What the files that implement Step share about running nodes. Private to the executor.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/execute/compiled_graph.h"

namespace tensorfleet::execute {

// From here on, handing a node to another thread is worth its price.
inline constexpr uint32_t kExpensiveNanos = 10'000;

inline int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Notes how long a run took. Races lose a sample, which does no harm.
void RecordCost(const NodeItem& item, int64_t nanos);

// Counts how many drivers are on this thread's stack: a completion starts one inside whatever
// called it, and calls of functions nest. Deep ones go on elsewhere instead.
class DriveDepth {
 public:
  DriveDepth() { ++depth_; }
  ~DriveDepth() { --depth_; }
  static bool IsDeep() { return depth_ >= 24; }

 private:
  static thread_local int depth_;
};

}  // namespace tensorfleet::execute
