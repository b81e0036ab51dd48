// Waiting for a graph to be prepared, for as long as the one who asked for it has patience.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "runtime/base/thread_pool.h"
#include "runtime/base/timer_queue.h"
#include "runtime/session/master/prepared_graph.h"

namespace tensorfleet {

// Until when a client waits for its step, from the moment in which the step was asked for.
struct StepDeadline {
  std::chrono::milliseconds limit{0};  // 0: none
  TimerQueue::TimePoint at;

  // Of the first that is not 0.
  static StepDeadline In(std::chrono::milliseconds first, std::chrono::milliseconds second);
  bool is_set() const { return limit.count() > 0; }
  Status Error() const;
};

struct PrepareWaitArgs {
  std::shared_ptr<PreparedGraph> graph;   // was joined
  CancellationManager* caller = nullptr;  // may be null
  std::shared_ptr<CancellationManager> session_end;
  TimerQueue* timers = nullptr;  // null: there are no deadlines
  ThreadPool* pool = nullptr;    // where the step that waited goes on
  StepDeadline deadline;
};

// Calls `then` once: when the graph is ready, with what its preparation ended with, or earlier with
// the reason why nobody waits: the caller or the session has ended, or the deadline has passed.
void WaitUntilPrepared(PrepareWaitArgs args, std::function<void(Status)> then);

}  // namespace tensorfleet
