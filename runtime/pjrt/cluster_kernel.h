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

}  // namespace tensorfleet::pjrt
