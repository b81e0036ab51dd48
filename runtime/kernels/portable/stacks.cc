// Stacks of tensors, which the gradients of v1 loops keep the forward loop's values in. They live
// within a step. Schemas: runtime/ops/portable/stack_ops.cc.
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/named_resource.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet::portable {
namespace {

// Thread-safe.
class Stack final : public Resource {
 public:
  Stack(std::string name, DType type, int64_t max_size)
      : name_(std::move(name)), type_(type), max_size_(max_size) {}
  std::string DebugString() const override {
    MutexLock lock(&mu_);
    return absl::StrCat("Stack[", name_, "] of ", elements_.size());
  }
  DType type() const { return type_; }

  Status Push(Tensor element) {
    MutexLock lock(&mu_);
    if (max_size_ >= 0 && static_cast<int64_t>(elements_.size()) >= max_size_) {
      return InvalidArgument("Stack[", name_, "] overflowed its max_size (", max_size_, ")");
    }
    elements_.push_back(std::move(element));
    return OkStatus();
  }
  StatusOr<Tensor> Pop() {
    MutexLock lock(&mu_);
    if (elements_.empty())
      return InvalidArgument("Stack[", name_, "] is empty when calling Pop().");
    Tensor top = std::move(elements_.back());
    elements_.pop_back();
    return top;
  }

 private:
  const std::string name_;
  const DType type_;
  const int64_t max_size_;
  mutable Mutex mu_;
  std::vector<Tensor> elements_ ABSL_GUARDED_BY(mu_);
};

// Where the stack behind input 0 is among the step's resources.
StatusOr<ResourceName> StackName(const KernelContext& ctx) {
  if (ctx.ref_input_ptr(0)) return NameFromReference(ctx, 0);
  const ResourceHandle* handle = HandleFromInput(ctx, 0);
  if (handle == nullptr)
    return InvalidArgument("a stack's handle must be a scalar resource handle");
  TFLEET_RETURN_IF_ERROR(CheckHandleDevice(ctx, *handle));
  return ResourceName{handle->container, handle->name};
}

StatusOr<ResourceRef<Stack>> FindStack(const KernelContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const ResourceName name, StackName(ctx));
  return ctx.step().step_resources->Find<Stack>(name.container, name.name);
}

class StackKernel final : public Kernel {
 public:
  explicit StackKernel(KernelInit& init) {
    init.Get("elem_type", &type_);
    init.Get("stack_name", &name_);
    if (name_.empty()) name_ = init.node().name();
  }
  Status Compute(KernelContext& ctx) const override {
    const bool is_first_version = ctx.num_inputs() == 0;
    if (!is_first_version && ctx.input(0).num_elements() != 1)
      return InvalidArgument("Stack size must be a single integer, but had shape: ",
                             ctx.input(0).shape().ToString());
    const int32_t max_size = is_first_version ? -1 : ctx.input(0).scalar<int32_t>();
    ResourceManager& resources = *ctx.step().step_resources;
    ResourceHandle handle;
    handle.device = ctx.step().device->name();
    handle.container = resources.default_container();
    handle.name = absl::StrCat(name_, "_", resources.NextPrivateId());
    handle.type_name = "N10tensorflow5StackE";
    TFLEET_RETURN_IF_ERROR(
        resources.Add<Stack>(handle.container, handle.name,
                             ResourceRef<Stack>::Adopt(new Stack(name_, type_, max_size))));
    if (is_first_version) {
      ctx.SetRefOutput(0, MakeNameReference(handle.container, handle.name));
      return OkStatus();
    }
    ctx.SetOutput(0, Tensor::Scalar<ResourceHandle>(std::move(handle)));
    return OkStatus();
  }

 private:
  DType type_ = DType::kInvalid;
  std::string name_;
};

class StackPushKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<Stack> stack, FindStack(ctx));
    if (ctx.input(1).dtype() != stack->type()) {
      return InvalidArgument("Must have type ", DTypeName(stack->type()), " but got ",
                             DTypeName(ctx.input(1).dtype()));
    }
    TFLEET_RETURN_IF_ERROR(stack->Push(ctx.input(1)));
    ctx.SetOutput(0, ctx.TakeInput(1));
    return OkStatus();
  }
};

class StackPopKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<Stack> stack, FindStack(ctx));
    if (ctx.node().output_type(0) != stack->type()) {
      return InvalidArgument("Must have type ", DTypeName(stack->type()), " but got ",
                             DTypeName(ctx.node().output_type(0)));
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor top, stack->Pop());
    ctx.SetOutput(0, std::move(top));
    return OkStatus();
  }
};

class StackCloseKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceName name, StackName(ctx));
    return ctx.step().step_resources->Remove<Stack>(name.container, name.name);
  }
};

}  // namespace

void RegisterStackKernels(KernelRegistry& kernels) {
  for (const char* version : {"", "V2"}) {
    kernels.Add<StackKernel>(absl::StrCat("Stack", version), kCpu);
    kernels.Add<StackPushKernel>(absl::StrCat("StackPush", version), kCpu);
    kernels.Add<StackPopKernel>(absl::StrCat("StackPop", version), kCpu);
    kernels.Add<StackCloseKernel>(absl::StrCat("StackClose", version), kCpu);
  }
}

}  // namespace tensorfleet::portable
