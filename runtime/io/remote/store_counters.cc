#include "runtime/io/remote/store_counters.h"

#include "runtime/base/mutex.h"

namespace tensorfleet {
namespace {

struct Counted {
  Mutex mu;
  std::map<std::string, StoreCounters> by_scheme ABSL_GUARDED_BY(mu);
};

Counted& TheCounted() {
  static Counted* const counted = new Counted();
  return *counted;
}

}  // namespace

void CountRequest(const std::string& scheme, size_t sent_bytes, size_t received_bytes,
                  bool is_retry) {
  Counted& counted = TheCounted();
  MutexLock lock(&counted.mu);
  StoreCounters& counters = counted.by_scheme[scheme];
  ++counters.requests;
  counters.retries += is_retry ? 1 : 0;
  counters.sent_bytes += static_cast<int64_t>(sent_bytes);
  counters.received_bytes += static_cast<int64_t>(received_bytes);
}

std::map<std::string, StoreCounters> CountedRequests() {
  Counted& counted = TheCounted();
  MutexLock lock(&counted.mu);
  return counted.by_scheme;
}

}  // namespace tensorfleet
