// The priority of the calling thread, which can only be lowered: taking that back needs a
// privilege.
#pragma once

namespace tensorfleet {

// From now on this thread gets a tenth of what others get, where they compete for a processor.
void YieldToOtherThreads();
// It runs in the time that others leave. Where they leave none, hardly ever: it must hold no lock
// that others wait for.
void RunInIdleTime();

}  // namespace tensorfleet
