// A fixed pool of threads that run closures in the order they came, plus a parallel loop.
// Thread-safe. Destroying the pool runs what was scheduled, then joins its threads.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"

namespace tensorfleet {

class ThreadPool {
 public:
  // `num_threads` of at least 1. `name` is what a debugger shows for the threads (first 15 bytes).
  ThreadPool(absl::string_view name, int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Runs `work` on some thread of the pool. `work` must not block on other work of the same pool.
  // What it throws is logged and goes no further: whoever waits for it must notice that it is gone.
  void Schedule(std::function<void()> work);

  int num_threads() const { return static_cast<int>(threads_.size()); }

  // Calls body(begin, end) over disjoint ranges that cover [0, total), on the calling thread and on
  // idle threads of the pool, and returns when all calls have returned. `cost_per_unit` is a rough
  // number of nanoseconds per unit: cheap loops stay on the calling thread. Safe to call from a
  // pool thread: the caller takes ranges itself, so it never waits for work that has not begun.
  // What a call throws is thrown here, after the others have returned; the rest is left undone.
  // So it is when `cancellation` comes meanwhile (CancelledLoop); ranges are then milliseconds
  // long.
  void ParallelFor(int64_t total, int64_t cost_per_unit,
                   absl::FunctionRef<void(int64_t begin, int64_t end)> body,
                   const CancellationManager* cancellation = nullptr);

 private:
  void Loop();

  Mutex mu_;
  CondVar has_work_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tensorfleet
