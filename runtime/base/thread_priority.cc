#include "runtime/base/thread_priority.h"

#include <sched.h>
#include <unistd.h>

namespace tensorfleet {

// Where the system refuses, the thread works as it did.

void YieldToOtherThreads() {
  constexpr int kNice = 10;  // of this thread alone, as Linux has it
  [[maybe_unused]] const int lowered = ::nice(kNice);
}

void RunInIdleTime() {
  const sched_param parameters{};
  [[maybe_unused]] const int lowered = ::sched_setscheduler(0, SCHED_IDLE, &parameters);
}

}  // namespace tensorfleet
