// Who may work on a device's variables: one launch, or one kernel on the host, at a time. A kernel
// on the host brings the values to the host first and relies on finding them there; a launch relies
// on shapes staying as it was compiled for. Waiting blocks no thread. Whoever only reads a value
// needs no lock: reading a variable is taking a handle to its present value. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "runtime/base/mutex.h"
#include "runtime/kernels/resource.h"

namespace tensorfleet::pjrt {

class VariableLocks {
 public:
  // Calls `then` once all are held, here or on the thread that releases the last one; so `then`
  // must be short. Sorts `variables` and removes doubles first: taken in address order, nobody
  // waits in a circle. `variables` must live until Release.
  void Acquire(std::vector<Variable*>* variables, std::function<void()> then);
  void Release(absl::Span<Variable* const> variables);

 private:
  void AcquireFrom(size_t next, std::vector<Variable*>* variables, std::function<void()> then);

  Mutex mu_;
  // Held variables, with those who wait for each.
  absl::flat_hash_map<Variable*, std::deque<std::function<void()>>> held_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::pjrt
