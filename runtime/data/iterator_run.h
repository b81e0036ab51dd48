// A run of a data set on behalf of steps: who asks for an element waits without a thread. An
// element that was asked for by a step that ended meanwhile is kept for the next one, so none is
// lost. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/data/iterator.h"

namespace tensorfleet::data {

class IteratorRun : public std::enable_shared_from_this<IteratorRun> {
 public:
  // An element, or nothing at the end.
  using Result = StatusOr<std::optional<Element>>;
  using Done = std::function<void(Result)>;

  // With `state`, from the place that it says. `what` names the run in errors. Errors: what making
  // the iterators, and restoring them, says.
  // Ends with `step` (may be null).
  static StatusOr<std::shared_ptr<IteratorRun>> Start(DatasetRef dataset, ThreadPool* pool,
                                                      std::string what,
                                                      const IteratorState* state = nullptr,
                                                      CancellationManager* step = nullptr);
  ~IteratorRun();

  const DatasetRef& dataset() const { return dataset_; }
  // Whether `runner` runs functions of this run: what they do is part of it.
  bool Owns(const FunctionRunner* runner);

  // `done` is called once, here or later on another thread; with the cause when `step` (may be
  // null) is cancelled before.
  void Next(CancellationManager* step, Done done);
  // The place where it stands, when the element that is being computed is there. Errors: Cancelled,
  // and what saving says. Not for threads of the device's pool.
  Status Save(IteratorState* state, CancellationManager* step = nullptr);
  // Ends it: whoever waits gets Cancelled, threads are joined, iterators and functions go. Not for
  // threads of the device's pool.
  void Stop();

 private:
  struct Waiter {
    int64_t id;
    CancellationManager* step;
    CancellationManager::Token token;
    Done done;
  };

  IteratorRun(DatasetRef dataset, ThreadPool* pool, std::string what);
  Status Open(const IteratorState* state);
  Status Restore(const IteratorState& state);
  // One element, by whoever is busy with it.
  Result Compute();
  // The same, or nothing where that might take long.
  std::optional<Result> ComputeAtOnce();
  // Computes for those who wait until there are none.
  void Serve();
  void StartServing();
  // The busy one is ready.
  void Release();
  // Whether the caller is in line now; if not, its step is over, and `*done` is left.
  bool GetInLine(CancellationManager* step, Done* done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Abandon(int64_t id);

  const DatasetRef dataset_;
  ThreadPool* const pool_;
  // Used by whoever is busy; gone once stopped.
  std::unique_ptr<IteratorScope> scope_;
  IteratorPtr root_;

  Mutex mu_;
  CondVar idle_;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  int64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Waiter> waiters_ ABSL_GUARDED_BY(mu_);
  std::optional<Result> kept_ ABSL_GUARDED_BY(mu_);  // nobody waited any more
};

}  // namespace tensorfleet::data
