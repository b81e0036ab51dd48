#include "runtime/kernels/value_readers.h"

#include <cstdint>

#include "runtime/base/mutex.h"

namespace tensorfleet {
namespace {

// One for the process: updates wait seldom and shortly, and each asks for itself what has changed.
struct Departures {
  Mutex mu;
  CondVar changed;
  uint64_t count ABSL_GUARDED_BY(mu) = 0;
};

Departures& All() {
  static Departures& departures = *new Departures;
  return departures;
}

std::atomic<int64_t> g_test_patience_nanos{0};

}  // namespace

void ValueReaders::Wake() {
  Departures& all = All();
  MutexLock lock(&all.mu);
  ++all.count;
  all.changed.NotifyAll();
}

bool ValueReaders::Await(absl::FunctionRef<bool()> may_go_on, std::chrono::nanoseconds patience) {
  if (const int64_t nanos = g_test_patience_nanos; nanos > 0 && patience.count() > 0) {
    patience = std::chrono::nanoseconds(nanos);
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  Departures& all = All();
  // Before anything is asked: whoever leaves after the question sees that somebody waits.
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  bool may = false;
  bool is_late = false;
  while (true) {
    uint64_t seen;
    {
      MutexLock lock(&all.mu);
      seen = all.count;
    }
    may = may_go_on();
    if (may || is_late) break;
    MutexLock lock(&all.mu);
    while (all.count == seen && !is_late) is_late = !all.changed.WaitUntil(&all.mu, deadline);
  }
  waiting_.fetch_sub(1, std::memory_order_seq_cst);
  return may;
}

void ValueReaders::SetPatienceForTest(std::chrono::nanoseconds patience) {
  g_test_patience_nanos = patience.count();
}

}  // namespace tensorfleet
