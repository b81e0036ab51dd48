// Request ids that were seen lately: a request that arrives twice (a retry by the transport) must
// not run twice. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace tensorfleet {

class RequestIds {
 public:
  // Remembers the last `capacity` ids.
  explicit RequestIds(size_t capacity = 4096) : capacity_(capacity) {}

  // Id 0 is never a repetition. Errors: Aborted `The same <what> request was received twice. ...`
  Status Track(int64_t id, absl::string_view what);

 private:
  const size_t capacity_;
  Mutex mu_;
  absl::flat_hash_set<int64_t> seen_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> ring_ ABSL_GUARDED_BY(mu_);
  size_t oldest_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet
