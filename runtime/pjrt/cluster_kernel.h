// The kernel of a cluster (kClusterOp): lowers and compiles the cluster once for each set of
// shapes, then launches it. Variables are updated in place while nobody else holds their memory.
// What cannot be compiled for some shapes runs node by node on the host instead, with one warning.
#pragma once

#include <memory>

#include "runtime/kernels/kernel.h"
#include "runtime/pjrt/pjrt_device.h"

namespace tensorfleet::pjrt {

// Errors are recorded in `init`.
std::unique_ptr<Kernel> MakeClusterKernel(KernelInit& init, PjrtDevice* device);

// Counts of this process, for tests and metrics.
struct LaunchCounts {
  std::atomic<int64_t> launches{0};
  std::atomic<int64_t> host_runs{0};  // of clusters that could not be compiled
  std::atomic<int64_t> refused{0};    // launches whose values only the host's kernels can judge
  std::atomic<int64_t> copies_to_device{0};
  std::atomic<int64_t> donated{0};  // variables that were updated in place
  std::atomic<int64_t> doubled{0};  // variables whose memory somebody else held
};
LaunchCounts& Counts();

}  // namespace tensorfleet::pjrt
