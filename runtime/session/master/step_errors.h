// What went wrong in the pieces of one step, and which of it the client is told: the first root
// cause, or all of them when there are several; never an echo of a cause that is known.
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace tensorfleet {

class StepErrors {
 public:
  // Returns whether this is the first error that is no echo: the step is then to be cancelled. OK
  // is ignored.
  bool Add(Status status);
  bool ok() const;
  Status Merged() const;

 private:
  mutable Mutex mu_;
  std::vector<Status> roots_ ABSL_GUARDED_BY(mu_);
  Status first_echo_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
