#include "runtime/tensor/memory_account.h"

#include "runtime/base/memory_limit.h"

namespace tensorfleet {

namespace {

std::atomic<int64_t> g_refused{0};

}  // namespace

int64_t TensorsRefused() { return g_refused.load(std::memory_order_relaxed); }

Status RefuseTensor(Status why) {
  g_refused.fetch_add(1, std::memory_order_relaxed);
  return why;
}

Status CheckWorkSpace(int64_t count, size_t size) {
  size_t bytes = 0;
  if (!__builtin_mul_overflow(static_cast<size_t>(count), size, &bytes) &&
      (bytes < kMemoryWorthLooking || MemoryAllows(bytes))) {
    return OkStatus();
  }
  return RefuseTensor(ResourceExhausted("out of memory: no room to work on ", count, " rows, ",
                                        size, " bytes each, with ", MemoryLimit(),
                                        " bytes allowed to the process"));
}

constinit thread_local MemoryAccount* MemoryAccount::current_ = nullptr;

MemoryAccount::Handle MemoryAccount::Open(std::string what, int64_t limit, MemoryAccount* parent) {
  // A child counts as a byte of its parent's, which so outlives it.
  if (parent != nullptr) parent->used_.fetch_add(1, std::memory_order_relaxed);
  return Handle(new MemoryAccount(std::move(what), limit, parent));
}

Status MemoryAccount::Charge(int64_t bytes) {
  const int64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  Status status;
  if (limit_ > 0 && before - 1 + bytes > limit_) {
    status = RefuseTensor(ResourceExhausted(what_, " holds ", before - 1,
                                            " bytes of tensors and asks for ", bytes,
                                            " more; its limit is ", limit_));
  } else if (parent_ != nullptr) {
    status = parent_->Charge(bytes);
  }
  // Whoever charges an account keeps it alive meanwhile: this cannot be the last of it.
  if (!status.ok()) used_.fetch_sub(bytes, std::memory_order_relaxed);
  return status;
}

void MemoryAccount::Refund(int64_t bytes) {
  // The parent first: what it still counts for this account keeps it alive.
  if (parent_ != nullptr) parent_->Refund(bytes);
  Subtract(bytes);
}

void MemoryAccount::Subtract(int64_t bytes) {
  if (used_.fetch_sub(bytes, std::memory_order_acq_rel) != bytes) return;
  MemoryAccount* const parent = parent_;
  delete this;
  if (parent != nullptr) parent->Subtract(1);
}

}  // namespace tensorfleet
