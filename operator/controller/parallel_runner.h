// Runs the requests of many reconciles at once, within one limit, a request of each in turn: a job
// with a thousand pods to make does not keep another's first pod waiting. Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"

namespace tensorfleet::controller {

class ParallelRunner {
 public:
  using Task = std::function<void()>;

  explicit ParallelRunner(int threads);
  ~ParallelRunner();

  // Runs all of `tasks` and returns when the last has ended. The calling thread takes part, so this
  // works with few threads and from any of them.
  void Run(std::vector<Task> tasks);

 private:
  struct Batch {
    std::vector<Task> tasks;
    size_t next = 0;
    size_t unfinished = 0;
    CondVar done;
  };

  void Loop();
  // Takes the next task of `batch` and runs it. Called and returns with the lock held.
  void RunOne(Batch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  CondVar has_work_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::list<Batch*> batches_ ABSL_GUARDED_BY(mu_);  // with tasks left; whose turn is next first
  std::vector<std::thread> threads_;
};

}  // namespace tensorfleet::controller
