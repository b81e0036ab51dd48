// Runs a kernel of the CPU for a node that was placed on a device: what its inputs have on the
// device is copied to the host first, and so are the values of variables that it works on. Its
// outputs stay on the host until somebody on the device needs them.
#pragma once

#include <memory>

#include "runtime/kernels/kernel.h"
#include "runtime/pjrt/pjrt_device.h"

namespace tensorfleet::pjrt {

// Which inputs of a kernel have to be on the host, and whether it works on variables.
struct HostNeeds {
  bool all_values = true;          // else only input `value`
  int value = -1;                  // none when negative
  bool works_on_variables = true;  // their values, not only their handles
};

std::unique_ptr<Kernel> MakeHostKernel(const KernelInit& init, const PjrtDevice* device,
                                       std::unique_ptr<Kernel> kernel, HostNeeds needs);

}  // namespace tensorfleet::pjrt
