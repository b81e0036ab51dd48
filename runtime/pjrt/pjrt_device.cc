#include "runtime/pjrt/pjrt_device.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "runtime/pjrt/cluster_kernel.h"
#include "runtime/pjrt/host_kernel.h"

namespace tensorfleet::pjrt {
namespace {

// Kernels of the CPU that only hand tensors on or look at their shapes: they do not mind where the
// memory is.
bool HandsOn(const Node& node) {
  static const auto* const kOps = new absl::flat_hash_set<std::string>{"Identity",
                                                                       "Snapshot",
                                                                       "StopGradient",
                                                                       "PreventGradient",
                                                                       "PlaceholderWithDefault",
                                                                       "GuaranteeConst",
                                                                       "DebugGradientIdentity",
                                                                       "IdentityN",
                                                                       "NoOp",
                                                                       "EnsureShape",
                                                                       "Enter",
                                                                       "RefEnter",
                                                                       "Exit",
                                                                       "RefExit",
                                                                       "NextIteration",
                                                                       "RefNextIteration",
                                                                       "LoopCond",
                                                                       "Merge",
                                                                       "RefMerge",
                                                                       "ControlTrigger",
                                                                       "Const",
                                                                       "Placeholder",
                                                                       "PlaceholderV2",
                                                                       "_Arg",
                                                                       "_DeviceArg",
                                                                       "_Retval",
                                                                       "_DeviceRetval",
                                                                       "_Recv",
                                                                       "_HostRecv",
                                                                       "VarHandleOp",
                                                                       "_VarHandlesOp",
                                                                       "VariableV2",
                                                                       "Variable",
                                                                       "TemporaryVariable",
                                                                       "ReadVariableOp",
                                                                       "_ReadVariablesOp",
                                                                       "VarIsInitializedOp",
                                                                       "IsVariableInitialized",
                                                                       "VariableShape",
                                                                       "Shape",
                                                                       "ShapeN",
                                                                       "Size",
                                                                       "Rank",
                                                                       "FakeParam"};
  return kOps->contains(node.op());
}

bool CallsFunctions(const Node& node) {
  return std::any_of(node.def().attr().begin(), node.def().attr().end(), [](const auto& attr) {
    return attr.second.has_func() || attr.second.list().func_size() > 0;
  });
}

HostNeeds NeedsOf(const Node& node) {
  HostNeeds needs;
  const std::string& op = node.op();
  if (op == "Switch" || op == "RefSwitch" || op == "_SwitchN") {
    needs = {/*all_values=*/false, /*value=*/1, /*works_on_variables=*/false};
  } else if (op == "RefSelect") {
    needs = {/*all_values=*/false, /*value=*/0, /*works_on_variables=*/false};
  } else if (CallsFunctions(node)) {
    needs.works_on_variables = false;  // the functions' own nodes do
  }
  return needs;
}

}  // namespace

StatusOr<std::unique_ptr<Kernel>> PjrtDevice::MakeKernel(KernelInit& init,
                                                         const KernelRegistry& kernels) {
  if (init.node().op() == kClusterOp) {
    std::unique_ptr<Kernel> kernel = MakeClusterKernel(init, this);
    if (!init.status().ok()) return WithNode(init.status(), init.node().name());
    return kernel;
  }
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, kernels.Make(init, kCpu));
  if (HandsOn(init.node())) return kernel;
  return MakeHostKernel(init, this, std::move(kernel), NeedsOf(init.node()));
}

PjrtDevice* PjrtDeviceOf(Device* device) { return dynamic_cast<PjrtDevice*>(BaseDevice(device)); }

}  // namespace tensorfleet::pjrt
