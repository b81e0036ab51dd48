// Variables by reference edge: VariableV2 and what is done to its reference.
// Schemas: runtime/ops/state/variable_ops.cc.
#include <memory>
#include <utility>

#include "runtime/kernels/cpu/state/variable_update.h"
#include "runtime/kernels/cpu/sum_loop.h"
#include "runtime/kernels/private_resource.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// What a container holds under the name of a VariableV2. A class of its own, so that a resource
// variable of the same name is another thing.
class NamedRefVariable final : public Resource {
 public:
  explicit NamedRefVariable(ResourceRef<Variable> variable) : variable_(std::move(variable)) {}
  std::string DebugString() const override { return variable_->DebugString(); }
  const ResourceRef<Variable>& variable() const { return variable_; }

 private:
  const ResourceRef<Variable> variable_;
};

class VariableKernel final : public Kernel {
 public:
  explicit VariableKernel(KernelInit& init) {
    init.Get("dtype", &dtype_);
    init.Get("shape", &shape_);
    init.Get("container", &container_);
    init.Get("shared_name", &name_);
    init.Fail(CheckResourceNames(container_, name_));
    if (name_.empty()) name_ = init.node().name();
    // The old op and old clients write a scalar shape when they do not know it.
    if (init.node().op() == "Variable" && shape_.has_rank() && shape_.rank() == 0) {
      shape_ = PartialShape::Unknown();
    }
  }

  Status Compute(KernelContext& ctx) const override {
    ResourceManager& resources = *ctx.step().resources;
    const uint64_t generation = resources.generation();
    {
      MutexLock lock(&mu_);
      if (found_ && found_in_ == &resources && generation_ == generation) {
        ctx.SetRefOutput(0, found_);
        return OkStatus();
      }
    }
    TFLEET_ASSIGN_OR_RETURN(
        ResourceRef<NamedRefVariable> named,
        resources.FindOrMake<NamedRefVariable>(
            container_, name_, [&]() -> StatusOr<ResourceRef<NamedRefVariable>> {
              auto variable = ResourceRef<Variable>::Adopt(new Variable(dtype_, shape_));
              return ResourceRef<NamedRefVariable>::Adopt(
                  new NamedRefVariable(std::move(variable)));
            }));
    ResourceRef<Variable> variable = named->variable();
    if (variable->dtype() != dtype_) {
      return InvalidArgument("Variable ", name_, " holds ", DTypeName(variable->dtype()),
                             ", but this node declares it as ", DTypeName(dtype_));
    }
    ctx.SetRefOutput(0, variable);
    MutexLock lock(&mu_);
    std::swap(found_, variable);
    found_in_ = &resources;
    generation_ = generation;
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
  PartialShape shape_;
  std::string container_;
  std::string name_;
  mutable Mutex mu_;
  mutable ResourceRef<Variable> found_ ABSL_GUARDED_BY(mu_);
  mutable const ResourceManager* found_in_ ABSL_GUARDED_BY(mu_) = nullptr;
  mutable uint64_t generation_ ABSL_GUARDED_BY(mu_) = 0;
};

// A variable that one step makes, hands around and destroys.
class TemporaryVariableKernel final : public Kernel {
 public:
  explicit TemporaryVariableKernel(KernelInit& init) {
    PartialShape shape;
    init.Get("dtype", &dtype_);
    init.Get("shape", &shape);
    init.Get("var_name", &name_);
    if (name_.empty()) name_ = init.node().name();
    StatusOr<Shape> full = shape.ToShape();
    if (full.ok()) {
      shape_ = *std::move(full);
    } else {
      init.Fail(full.status());
    }
  }
  Status Compute(KernelContext& ctx) const override {
    auto variable = ResourceRef<Variable>::Adopt(new Variable(dtype_, PartialShape(shape_)));
    TFLEET_ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(dtype_, shape_));
    {
      MutexLock lock(&variable->mu());
      variable->mutable_tensor() = std::move(value);
    }
    TFLEET_RETURN_IF_ERROR(ctx.step().step_resources->Add<Variable>("", name_, variable));
    ctx.SetRefOutput(0, std::move(variable));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  std::string name_;
};

class DestroyTemporaryVariableKernel final : public Kernel {
 public:
  explicit DestroyTemporaryVariableKernel(KernelInit& init) { init.Get("var_name", &name_); }
  Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, ctx.ref_input(0).Read());
    return ctx.step().step_resources->Remove<Variable>("", name_);
  }

 private:
  std::string name_;
};

class IsVariableInitializedKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, Tensor::Scalar<bool>(ctx.ref_input(0).is_initialized()));
    return OkStatus();
  }
};

class AssignKernel final : public Kernel {
 public:
  explicit AssignKernel(KernelInit& init) { init.Get("validate_shape", &validate_shape_); }

  Status Compute(KernelContext& ctx) const override {
    Variable& variable = ctx.ref_input(0);
    Tensor value = ctx.TakeInput(1);
    if (value.dtype() != variable.dtype()) {
      return InvalidArgument("Assign of ", DTypeName(value.dtype()), " to a variable of ",
                             DTypeName(variable.dtype()));
    }
    TFLEET_ASSIGN_OR_RETURN(value, OwnValue(std::move(value)));
    {
      MutexLock lock(&variable.mu());
      if (validate_shape_) TFLEET_RETURN_IF_ERROR(CheckShape(variable, value.shape()));
      std::swap(variable.mutable_tensor(), value);
    }
    ctx.SetRefOutput(0, ctx.ref_input_ptr(0));
    return OkStatus();
  }

 private:
  static Status CheckShape(const Variable& variable, const Shape& shape)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(variable.mu()) {
    const PartialShape now = variable.tensor().is_valid() ? PartialShape(variable.tensor().shape())
                                                          : variable.declared_shape();
    if (now.IsCompatibleWith(shape)) return OkStatus();
    return InvalidArgument("Assign requires shapes of both tensors to match. lhs shape= ",
                           now.ToString(), " rhs shape= ", shape.ToString());
  }

  bool validate_shape_ = true;
};

// AssignAdd, AssignSub.
template <bool kSubtract>
class AssignUpdateKernel final : public Kernel {
 public:
  explicit AssignUpdateKernel(KernelInit& init)
      : variables_(init, 1),
        dtype_(init.node().output_type(0)),
        update_(SumLoop(BaseType(dtype_), kSubtract)) {}

  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(1);
    VariableUpdate update;
    TFLEET_RETURN_IF_ERROR(update.Lock(ctx, variables_, 1, BaseType(dtype_)));
    if (update.value(0).shape() != value.shape()) {
      return InvalidArgument("Parameters and update must be the same size");
    }
    TFLEET_RETURN_IF_ERROR(update.PrepareElementwise());
    RunSumLoop(ctx, update_, update.value(0).raw(), value.raw(), update.raw_target(0),
               value.num_elements(), BaseType(dtype_));
    update.Commit();
    variables_.ForwardRef(ctx);
    return OkStatus();
  }

 private:
  const VariableInputs variables_;
  const DType dtype_;
  const SumLoopFn update_;
};

// Returns the variable's value and adds one to it.
template <typename T>
class CountUpToKernel final : public Kernel {
 public:
  explicit CountUpToKernel(KernelInit& init) : variables_(init, 1) { init.Get("limit", &limit_); }

  Status Compute(KernelContext& ctx) const override {
    VariableUpdate update;
    TFLEET_RETURN_IF_ERROR(update.Lock(ctx, variables_, 1, kDTypeOf<T>));
    if (update.value(0).rank() != 0) {
      return InvalidArgument("input is not a scalar: ", update.value(0).shape().ToString());
    }
    const Tensor before = update.value(0);
    const T count = before.scalar<T>();
    if (count >= limit_) return OutOfRange("Reached limit of ", limit_);
    TFLEET_RETURN_IF_ERROR(update.PrepareElementwise());
    *update.target<T>(0) = count + 1;
    update.Commit();
    ctx.SetOutput(0, before);
    return OkStatus();
  }

 private:
  const VariableInputs variables_;
  int64_t limit_ = 0;
};

}  // namespace

void RegisterRefVariableKernels(KernelRegistry& kernels) {
  kernels.Add<VariableKernel>("VariableV2", kCpu);
  kernels.Add<VariableKernel>("Variable", kCpu);
  kernels.Add<TemporaryVariableKernel>("TemporaryVariable", kCpu);
  kernels.Add<DestroyTemporaryVariableKernel>("DestroyTemporaryVariable", kCpu);
  kernels.Add<IsVariableInitializedKernel>("IsVariableInitialized", kCpu);
  kernels.Add<AssignKernel>("Assign", kCpu);
  for (const char* op : {"CountUpTo", "ResourceCountUpTo"}) {
    kernels.Add<CountUpToKernel<int32_t>>(op, kCpu, {{"T", DType::kInt32}});
    kernels.Add<CountUpToKernel<int64_t>>(op, kCpu, {{"T", DType::kInt64}});
  }
  ForEachType(Numbers(), [&](auto tag) {
    const TypeConstraint constraint{"T", kDTypeOf<typename decltype(tag)::type>};
    kernels.Add<AssignUpdateKernel<false>>("AssignAdd", kCpu, {constraint});
    kernels.Add<AssignUpdateKernel<true>>("AssignSub", kCpu, {constraint});
  });
}

}  // namespace tensorfleet::cpu
