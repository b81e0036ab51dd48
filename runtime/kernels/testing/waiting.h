// For tests of kernels that wait.
#pragma once

#include <functional>

namespace tensorfleet {

// Calls `then` once, on the thread that runs the kernel: when the next asynchronous kernel has been
// started by an OpTest and has not answered yet. What `then` does is so certain to come while the
// kernel waits.
void WhenTheNextKernelWaits(std::function<void()> then);

}  // namespace tensorfleet
