#include "runtime/session/worker/request_ids.h"

namespace tensorfleet {

Status RequestIds::Track(int64_t id, absl::string_view what) {
  if (id == 0) return OkStatus();
  MutexLock lock(&mu_);
  if (!seen_.insert(id).second) {
    return Aborted("The same ", what, " request was received twice. request_id: ", id);
  }
  if (ring_.size() < capacity_) {
    ring_.push_back(id);
    return OkStatus();
  }
  seen_.erase(ring_[oldest_]);
  ring_[oldest_] = id;
  oldest_ = (oldest_ + 1) % capacity_;
  return OkStatus();
}

}  // namespace tensorfleet
