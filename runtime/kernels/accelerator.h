// What the core knows of devices that have memory of their own (runtime/pjrt makes them). Such a
// device makes the kernels of the nodes placed on it itself; whatever they hand on may be in its
// memory, where no other device's kernel can read it (Tensor::raw() is null there). Values that go
// to another device go through _Send, which copies them to the host first.
//
// Which ops may be placed on such a device, and which can be compiled, is in the KernelRegistry,
// under the names below instead of a type of device, so that a server without a device can place
// and gather nodes for servers that have one.
#pragma once

#include <memory>

#include "runtime/device/base_device.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet {

// A node with a kernel for the CPU may be placed on an accelerator of any type.
inline constexpr char kOnAccelerators[] = "on accelerators";
// There is a lowering: the node may become part of a cluster (place/passes/gather_clusters.h).
inline constexpr char kCompiled[] = "compiled";
// A cluster of such a node alone is worth a launch.
inline constexpr char kWorthALaunch[] = "worth a launch";
// The op may be placed on an accelerator because TensorFlow has a kernel for it there, but it runs
// on the host, with copies; so nothing goes there on its account.
inline constexpr char kOnHost[] = "on host";

// The op that stands for a cluster: `body` is a GraphDef with _Arg and _Retval nodes.
inline constexpr char kClusterOp[] = "_Cluster";
// How the descriptions of devices begin that run clusters.
inline constexpr char kClusterDevicePrefix[] = "PJRT ";

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  // The kernel of a node placed on this device. `kernels` has the CPU's, of which those that only
  // hand tensors on are used as they are. Errors: those of making a kernel.
  virtual StatusOr<std::unique_ptr<Kernel>> MakeKernel(KernelInit& init,
                                                       const KernelRegistry& kernels) = 0;
};

// Null for a device whose memory is the host's.
inline Accelerator* AcceleratorOf(Device* device) {
  return dynamic_cast<Accelerator*>(BaseDevice(device));
}

// Stands in a KernelRegistry for kernels that devices make themselves.
class MadeByDevice final : public Kernel {
 public:
  explicit MadeByDevice(KernelInit& init) {
    init.Fail(Internal("the kernel of ", init.node().op(), " is made by its device"));
  }
  Status Compute(KernelContext&) const override { return Internal("not a kernel"); }
};

}  // namespace tensorfleet
