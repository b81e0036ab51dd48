// What the iterators of one run share, from the outermost to those that functions make inside it:
// functions that outlive the step that captured them, cancellation, threads, memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/data/dataset.h"
#include "runtime/data/threads.h"
#include "runtime/kernels/function_runner.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet {
class ThreadPool;
}

namespace tensorfleet::data {

// A function with the values that it captured: a part of a data set. Immutable.
struct CapturedFunction {
  tensorflow::NameAttrList function;
  std::vector<Tensor> captured;  // come after the arguments
  std::shared_ptr<const FunctionSource> source;
};
using CapturedFunctionRef = std::shared_ptr<const CapturedFunction>;

class IteratorScope;

// A captured function in a scope, to be called there; lives no longer than the scope. Thread-safe.
class BoundFunction {
 public:
  BoundFunction() = default;
  // Waits for the result. Errors: the function's; Cancelled; InvalidArgument when `types` is given
  // and the results are others.
  Status Call(Element args, Element* results, const std::vector<DType>* types = nullptr) const;

 private:
  friend class IteratorScope;
  FunctionRunner* runner_ = nullptr;
  FunctionRunner::Handle handle_ = -1;
  CapturedFunctionRef function_;
  IteratorScope* scope_ = nullptr;
};

// Thread-safe. Iterators and background work go before their scope.
class IteratorScope {
 public:
  // `what` is the run's name in errors about memory, which is charged to a child of the calling
  // thread's account. `parent` may be null. `pool` is the device's.
  IteratorScope(ThreadPool* pool, CancellationManager* parent, std::string what);
  // A part of `whole` that can be cancelled on its own: for iterators that work in the background.
  explicit IteratorScope(IteratorScope& whole);
  ~IteratorScope();
  IteratorScope(const IteratorScope&) = delete;
  IteratorScope& operator=(const IteratorScope&) = delete;

  CancellationManager& cancellation() { return cancellation_; }
  // OK, or why it was cancelled: for loops that may be long.
  Status CheckCancelled() const {
    return cancellation_.is_cancelled() ? cancellation_.status() : OkStatus();
  }

  // Errors: NotFound.
  StatusOr<BoundFunction> Bind(const CapturedFunctionRef& function);
  // Whether `runner` runs this scope's functions: whoever it runs is part of this run.
  bool Owns(const FunctionRunner* runner) const;

  // Whether elements come in the order of their inputs where the graph leaves it open.
  bool deterministic() const;
  void set_deterministic(bool value);
  ThreadPool& pool() const;
  MemoryAccount* memory() const;
  // How many threads are worth while where the graph leaves it open.
  int64_t processors() const;

  // What the calling thread does is this scope's: its memory, its waits for files.
  class Work;
  // Runs `work` as this scope's on a thread of its own. Errors: ResourceExhausted.
  Status StartWork(Background* background, std::function<void()> work);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
  CancellationManager cancellation_;
};

// Wakes who waits for `changed` with `mu` when the scope is cancelled.
class WakeOnCancel {
 public:
  WakeOnCancel(IteratorScope& scope, Mutex* mu, CondVar* changed);
  ~WakeOnCancel();
  WakeOnCancel(const WakeOnCancel&) = delete;
  WakeOnCancel& operator=(const WakeOnCancel&) = delete;

 private:
  IteratorScope& scope_;
  const CancellationManager::Token token_;
};

}  // namespace tensorfleet::data
