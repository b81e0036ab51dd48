// The CPU's kernels, each behind a watch: whether the node under test came to run, and whether what
// it made is what its schema and its shape rule say.
#pragma once

#include <atomic>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::opfuzz {

// Of this process, which runs one case at a time. Thread-safe.
class Observations {
 public:
  void Reset();
  void Reached() { reached_ = true; }
  bool reached() const { return reached_; }
  void Complain(const std::string& what);
  std::string complaint() const;  // the first one; empty: none

 private:
  std::atomic<bool> reached_{false};
  mutable Mutex mu_;
  std::string complaint_ ABSL_GUARDED_BY(mu_);
};
Observations& Observed();

const KernelRegistry& ObservedKernels();

}  // namespace tensorfleet::opfuzz
