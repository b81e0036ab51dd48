// What a step or a session holds of host memory, and may hold. Buffers of more than a kilobyte are
// charged to the account of the thread that allocates them, and to that one's parents, until they
// are freed, wherever that is. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/status.h"

namespace tensorfleet {

// Tensors that were refused, for want of memory or over a limit, since the process began.
int64_t TensorsRefused();
// Counts one, and gives its error.
Status RefuseTensor(Status why);

// Whether the process may have `count` things of `size` bytes, which a kernel needs beside its
// tensors. Errors: ResourceExhausted.
Status CheckWorkSpace(int64_t count, size_t size);

class MemoryAccount {
 public:
  struct Release {
    void operator()(MemoryAccount* account) const { account->Subtract(1); }
  };
  // An owner's handle. The account itself lives until what was charged to it is free, too.
  using Handle = std::unique_ptr<MemoryAccount, Release>;

  // `what` as it stands in errors: "session 0123". `limit` in bytes; 0: counted only. `parent` may
  // be null.
  static Handle Open(std::string what, int64_t limit, MemoryAccount* parent);
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  // Errors: ResourceExhausted, naming the account, what it holds and its limit.
  Status Charge(int64_t bytes);
  void Refund(int64_t bytes);
  int64_t used() const { return used_.load(std::memory_order_relaxed) - 1; }

  // The account of this thread; null for none.
  static MemoryAccount* Current() { return current_; }

  // Makes `account`, which may be null, the thread's until the end of the scope.
  class Scope {
   public:
    explicit Scope(MemoryAccount* account) : before_(current_) { current_ = account; }
    ~Scope() { current_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    MemoryAccount* const before_;
  };

 private:
  MemoryAccount(std::string what, int64_t limit, MemoryAccount* parent)
      : what_(std::move(what)), limit_(limit), parent_(parent) {}
  ~MemoryAccount() = default;

  void Subtract(int64_t bytes);

  static constinit thread_local MemoryAccount* current_;

  const std::string what_;
  const int64_t limit_;
  MemoryAccount* const parent_;
  std::atomic<int64_t> used_{1};  // and one for the owner and for each child
};

}  // namespace tensorfleet
