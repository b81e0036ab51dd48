// For builds under ThreadSanitizer; part of every test program there. Debian's Abseil is not
// instrumented, so what orders the last use of a Status' content before its deletion, the count of
// those who share it, is invisible where Abseil lets go of it. This definition, which stands before
// Abseil's, does the same in instrumented code. Content that gRPC's threads made among themselves
// comes here too: its accesses count for nothing, only the order that the count gives.
#include <atomic>

#include "absl/status/status.h"
#include "runtime/base/testing/tsan_ignore.h"

namespace absl {
ABSL_NAMESPACE_BEGIN

void Status::UnrefNonInlined(uintptr_t rep) {
  const tensorfleet::TsanIgnore ignore;
  status_internal::StatusRep* const shared = RepToPointer(rep);
  if (shared->ref.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared;
}

ABSL_NAMESPACE_END
}  // namespace absl
