// Const and the placeholders that must be fed. Schemas: runtime/ops/portable/basic_ops.cc.
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::portable {
namespace {

// Decoded once; every step shares the buffer, which nobody overwrites because the kernel keeps
// holding it.
class Const final : public Kernel {
 public:
  explicit Const(KernelInit& init) {
    DType dtype = DType::kInvalid;
    init.Get("value", &value_);
    init.Get("dtype", &dtype);
    if (init.status().ok() && value_.dtype() != dtype) {
      init.Fail(InvalidArgument("Const holds a value of type ", DTypeName(value_.dtype()),
                                ", but its dtype is ", DTypeName(dtype)));
    }
  }
  Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, value_);
    return OkStatus();
  }

 private:
  Tensor value_;
};

// Runs only when a step did not feed it.
class Placeholder final : public Kernel {
 public:
  explicit Placeholder(KernelInit& init) : name_(init.node().name()) {
    init.Get("shape", &shape_);
    init.Get("dtype", &dtype_);
  }
  Status Compute(KernelContext&) const override {
    std::string shape;
    // A scalar is not spelled out: graphs of old front-ends say scalar where they mean anything.
    if (shape_.has_rank() && shape_.rank() > 0) {
      shape = absl::StrCat(" and shape ", shape_.ToString());
    }
    return InvalidArgument("You must feed a value for placeholder tensor '", name_, "' with dtype ",
                           DTypeName(dtype_), shape);
  }

 private:
  const std::string name_;
  PartialShape shape_;
  DType dtype_ = DType::kInvalid;
};

}  // namespace

void RegisterConstantKernels(KernelRegistry& kernels) {
  kernels.Add<Const>("Const", kCpu);
  kernels.Add<Placeholder>("Placeholder", kCpu);
  kernels.Add<Placeholder>("PlaceholderV2", kCpu);
}

}  // namespace tensorfleet::portable
