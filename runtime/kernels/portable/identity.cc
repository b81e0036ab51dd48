// Kernels that hand their input on: Identity and the ops that differ from it only in what a graph's
// rewriter makes of them. Schemas: runtime/ops/portable/basic_ops.cc.
#include <string>

#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/pass_on.h"

namespace tensorfleet::portable {
namespace {

class Identity final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    PassOn(ctx, 0, 0);  // a reference where it is marked (graph/passed_reference.h)
    return OkStatus();
  }
};

class IdentityN final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    for (int i = 0; i < ctx.num_inputs(); ++i) PassOn(ctx, i, i);
    return OkStatus();
  }
};

class NoOp final : public Kernel {
 public:
  Status Compute(KernelContext&) const override { return OkStatus(); }
};

// An output with memory of its own.
class DeepCopy final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    Tensor value = ctx.TakeInput(0);
    if (!value.buffer_is_unique()) {
      TFLEET_ASSIGN_OR_RETURN(value, value.Clone());
    }
    ctx.SetOutput(0, std::move(value));
    return OkStatus();
  }
};

class EnsureShape final : public Kernel {
 public:
  explicit EnsureShape(KernelInit& init) {
    init.Get("shape", &expected_);
    const Edge* edge = init.node().num_inputs() == 1 ? init.node().in_edge(0) : nullptr;
    input_name_ = edge == nullptr         ? init.node().name()
                  : edge->src_output == 0 ? edge->src->name()
                                          : absl::StrCat(edge->src->name(), ":", edge->src_output);
  }
  Status Compute(KernelContext& ctx) const override {
    Tensor value = ctx.TakeInput(0);
    if (!expected_.IsCompatibleWith(value.shape())) {
      return InvalidArgument("Shape of tensor ", input_name_, " ", value.shape().ToString(),
                             " is not compatible with expected shape ", expected_.ToString(), ".");
    }
    ctx.SetOutput(0, std::move(value));
    return OkStatus();
  }

 private:
  PartialShape expected_;
  std::string input_name_;
};

}  // namespace

void RegisterIdentityKernels(KernelRegistry& kernels) {
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient",
                         "PlaceholderWithDefault", "GuaranteeConst", "DebugGradientIdentity"}) {
    kernels.Add<Identity>(op, kCpu);
  }
  kernels.Add<IdentityN>("IdentityN", kCpu);
  kernels.Add<NoOp>("NoOp", kCpu);
  kernels.Add<DeepCopy>("DeepCopy", kCpu);
  kernels.Add<EnsureShape>("EnsureShape", kCpu);
}

}  // namespace tensorfleet::portable
