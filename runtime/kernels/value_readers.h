// How an update of a variable learns that a reader has let go of the value that it wants to write
// to. Kernels hold values for microseconds, and the executor says when it has taken a kernel's
// inputs away. What is held elsewhere (fetched, on its way to a peer) says nothing: an update
// copies when its patience is at an end. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>

#include "absl/functional/function_ref.h"

namespace tensorfleet {

class ValueReaders {
 public:
  // For whoever may have let go of a value, after that. Costs a load while nobody waits.
  static void MayHaveLeft() {
    if (waiting_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      Wake();
  }
  // Waits until `may_go_on`, which is asked at once and whenever a reader may have left. False when
  // it did not say so within `patience`.
  static bool Await(absl::FunctionRef<bool()> may_go_on, std::chrono::nanoseconds patience);

  // How many wait.
  static int waiting() { return waiting_.load(std::memory_order_seq_cst); }
  // For tests, that no update copies because the machine is busy: takes the place of every patience
  // that is not 0. 0 ends that.
  static void SetPatienceForTest(std::chrono::nanoseconds patience);

 private:
  static void Wake();
  static inline std::atomic<int> waiting_{0};
};

}  // namespace tensorfleet
