// A value that a service lends for some time: a token, a key.
#pragma once

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace tensorfleet {

// What was got, and until when it holds.
template <typename T>
struct Lent {
  T value;
  absl::Time until = absl::InfiniteFuture();
};

// Thread-safe. The value is asked for again some minutes before it ends; while that fails, the one
// that still holds is given.
template <typename T>
class Expiring {
 public:
  template <typename Ask>  // StatusOr<Lent<T>>()
  StatusOr<T> Get(const Ask& ask) {
    MutexLock lock(&mu_);
    const absl::Time now = absl::Now();
    if (is_there_ && now < lent_.until - absl::Minutes(5)) return lent_.value;
    StatusOr<Lent<T>> asked = ask();
    if (asked.ok()) {
      lent_ = *std::move(asked);
      is_there_ = true;
    } else if (!is_there_ || now >= lent_.until) {
      return asked.status();
    }
    return lent_.value;
  }

 private:
  Mutex mu_;
  bool is_there_ ABSL_GUARDED_BY(mu_) = false;
  Lent<T> lent_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
