// Cancellation of a step or a call: callbacks are registered with a manager and run once when it is
// cancelled. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace tensorfleet {

// Thrown out of loops that are left because of a cancellation, so that nothing makes use of what
// they have left half done. Contained (contain.h) turns it into the cancellation's status.
struct CancelledLoop {
  Status why;
};

class CancellationManager {
 public:
  using Token = int64_t;

  CancellationManager() = default;
  // A child is cancelled with its parent; the parent must outlive it.
  explicit CancellationManager(CancellationManager* parent);
  ~CancellationManager();
  CancellationManager(const CancellationManager&) = delete;
  CancellationManager& operator=(const CancellationManager&) = delete;

  // Runs every registered callback once, outside the lock, and keeps `why` for late comers. Only
  // the first call has an effect.
  void StartCancel(Status why = absl::CancelledError("cancelled"));

  bool is_cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // OK while not cancelled.
  Status status() const;
  // Throws CancelledLoop once cancelled.
  void LeaveIfCancelled() const {
    if (is_cancelled()) throw CancelledLoop{status()};
  }

  // Registers `callback` and returns its token, or returns -1 without keeping it when the manager
  // was cancelled already: the caller then does itself what the callback would have done.
  Token Register(std::function<void()> callback);

  // Makes sure the callback neither runs later nor is running now on another thread. Returns false
  // when it has run. Must not be called from inside the callback.
  bool Deregister(Token token);

  // Like Deregister, but does not wait for a running callback.
  bool TryDeregister(Token token);

 private:
  std::atomic<bool> cancelled_{false};
  mutable Mutex mu_;
  CondVar callbacks_done_;
  bool running_callbacks_ ABSL_GUARDED_BY(mu_) = false;
  Status why_ ABSL_GUARDED_BY(mu_);
  Token next_token_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<Token, std::function<void()>> callbacks_ ABSL_GUARDED_BY(mu_);
  CancellationManager* const parent_ = nullptr;
  Token parent_token_ = -1;
};

}  // namespace tensorfleet
