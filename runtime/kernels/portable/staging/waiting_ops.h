// Operations on shared state that wait until the state lets them through: what staging areas and
// barriers are made of. Each is tried under one lock; those that cannot be done yet wait in line
// and are tried again, in the order they came, after every operation that was done. They end with
// Cancelled when their step does. Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::portable {

class WaitingOps {
 public:
  // Does the operation and says how it went, or nothing when it must wait. Called with the lock
  // held; throws nothing.
  using Attempt = std::function<std::optional<Status>()>;
  using Done = std::function<void(Status)>;

  // `done` is called here, or, when another operation lets this one through, on the pool of this
  // one's device.
  void Do(KernelContext& ctx, Attempt attempt, Done done);

  // For looking at the state.
  Mutex& mu() const ABSL_LOCK_RETURNED(core_->mu) { return core_->mu; }

 private:
  struct Waiting {
    uint64_t id = 0;
    Attempt attempt;
    Done done;
    CancellationManager* cancellation = nullptr;
    ThreadPool* pool = nullptr;
    CancellationManager::Token token = -1;
    Status status;  // once it is over
  };
  // Kept by callbacks that may come after the state has gone.
  struct Core {
    Mutex mu;
    uint64_t next_id ABSL_GUARDED_BY(mu) = 1;
    std::list<Waiting> line ABSL_GUARDED_BY(mu);
  };
  using Finished = std::vector<Waiting>;

  static void TryAll(Core& core, Finished* finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(core.mu);
  static void Cancel(Core& core, uint64_t id);
  static void CallOnPools(Finished finished);

  const std::shared_ptr<Core> core_ = std::make_shared<Core>();
};

}  // namespace tensorfleet::portable
