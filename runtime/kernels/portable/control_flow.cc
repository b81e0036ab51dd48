// Switch, Merge and the ops of loop frames. What makes them special (dead values, frames) is the
// executor's; here they only choose and pass on.
#include <algorithm>

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/pass_on.h"

namespace tensorfleet::portable {
namespace {

// Enter, Exit, NextIteration, LoopCond and the Ref forms.
class Forward final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    PassOn(ctx, 0, 0);
    return OkStatus();
  }
};

class Switch final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& pred = ctx.input(1);
    if (!pred.shape().is_scalar()) {
      return InvalidArgument("The second input must be a scalar, but it has shape ",
                             pred.shape().ToString());
    }
    PassOn(ctx, 0, pred.scalar<bool>() ? 1 : 0);
    return OkStatus();
  }
};

class SwitchN final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& index = ctx.input(1);
    if (!index.shape().is_scalar()) {
      return InvalidArgument("The second input must be a scalar, but it has shape ",
                             index.shape().ToString());
    }
    const int last = ctx.num_outputs() - 1;
    const int32_t wanted = index.scalar<int32_t>();
    PassOn(ctx, 0, wanted < 0 || wanted > last ? last : wanted);
    return OkStatus();
  }
};

class Merge final : public Kernel {
 public:
  explicit Merge(KernelInit& init) {
    indices_.reserve(init.node().num_inputs());
    for (int i = 0; i < init.node().num_inputs(); ++i)
      indices_.push_back(Tensor::Scalar<int32_t>(i));
  }
  Status Compute(KernelContext& ctx) const override {
    int found = -1;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (!ctx.has_input(i) && !ctx.ref_input_ptr(i)) continue;
      if (found >= 0) return Internal("Merge can not have more than one valid input.");
      found = i;
    }
    if (found < 0) return Internal("Merge has no valid input.");
    PassOn(ctx, found, 0);
    ctx.SetOutput(1, indices_[found]);
    return OkStatus();
  }

 private:
  std::vector<Tensor>
      indices_;  // the values of output 1, which nobody can write while they are here
};

class RefSelect final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& index = ctx.input(0);
    if (!index.shape().is_scalar()) {
      return InvalidArgument("Index must be a scalar, but it has shape ", index.shape().ToString());
    }
    const int32_t wanted = index.scalar<int32_t>();
    if (wanted < 0 || wanted >= ctx.num_inputs() - 1) {
      return InvalidArgument("Index must be in the range [0, ", ctx.num_inputs() - 1, ") but got ",
                             wanted);
    }
    PassOn(ctx, wanted + 1, 0);
    return OkStatus();
  }
};

class ControlTrigger final : public Kernel {
 public:
  Status Compute(KernelContext&) const override { return OkStatus(); }
};

class Abort final : public Kernel {
 public:
  explicit Abort(KernelInit& init) { init.Get("error_msg", &message_); }
  Status Compute(KernelContext&) const override {
    return Aborted(message_.empty() ? "the graph ran an Abort op" : message_);
  }

 private:
  std::string message_;
};

}  // namespace

void RegisterControlFlowKernels(KernelRegistry& kernels) {
  for (const char* op : {"Enter", "RefEnter", "Exit", "RefExit", "NextIteration",
                         "RefNextIteration", "LoopCond", "RefIdentity"}) {
    kernels.Add<Forward>(op, kCpu);
  }
  kernels.Add<Switch>("Switch", kCpu);
  kernels.Add<Switch>("RefSwitch", kCpu);
  kernels.Add<SwitchN>("_SwitchN", kCpu);
  kernels.Add<Merge>("Merge", kCpu);
  kernels.Add<Merge>("RefMerge", kCpu);
  kernels.Add<RefSelect>("RefSelect", kCpu);
  kernels.Add<ControlTrigger>("ControlTrigger", kCpu);
  kernels.Add<Abort>("Abort", kCpu);
}

}  // namespace tensorfleet::portable
