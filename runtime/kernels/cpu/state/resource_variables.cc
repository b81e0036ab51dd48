// Variables by resource handle. Schemas: runtime/ops/state/variable_ops.cc.
// A read hands out the variable's own memory: whoever changes the variable afterwards finds that
// memory shared and writes elsewhere (variable_update.h).
#include <memory>
#include <utility>
#include <vector>

#include "runtime/kernels/cpu/state/variable_update.h"
#include "runtime/kernels/cpu/sum_loop.h"
#include "runtime/kernels/types.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet::cpu {
namespace {

// The type's name and its hash as TensorFlow's servers write them into handles.
constexpr char kVariableTypeName[] = "N10tensorflow3VarE";

Tensor MakeVariableHandle(const KernelInit& init, const std::string& container,
                          const std::string& name, DType dtype, PartialShape shape) {
  ResourceHandle handle;
  handle.device = init.device()->name();
  handle.container = container.empty() ? init.resources()->default_container() : container;
  handle.name = name;
  handle.type_name = kVariableTypeName;
  handle.dtypes_and_shapes.push_back({dtype, std::move(shape)});
  return Tensor::Scalar<ResourceHandle>(std::move(handle));
}

class VarHandleKernel final : public Kernel {
 public:
  explicit VarHandleKernel(KernelInit& init) {
    DType dtype = DType::kInvalid;
    PartialShape shape;
    std::string container, name;
    init.Get("dtype", &dtype);
    init.Get("shape", &shape);
    init.Get("container", &container);
    init.Get("shared_name", &name);
    if (name.empty()) name = init.node().name();
    handle_ = MakeVariableHandle(init, container, name, dtype, std::move(shape));
  }
  Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, handle_);
    return OkStatus();
  }

 private:
  Tensor handle_;
};

class VarHandlesKernel final : public Kernel {
 public:
  explicit VarHandlesKernel(KernelInit& init) {
    std::vector<std::string> containers, names;
    std::vector<DType> dtypes;
    std::vector<PartialShape> shapes;
    init.Get("containers", &containers);
    init.Get("shared_names", &names);
    init.Get("dtypes", &dtypes);
    init.Get("shapes", &shapes);
    const size_t n = init.node().num_outputs();
    if (containers.size() != n || names.size() != n || dtypes.size() != n || shapes.size() != n) {
      init.Fail(
          InvalidArgument("_VarHandlesOp: containers, shared_names, dtypes and shapes must each "
                          "have N = ",
                          n, " entries"));
      return;
    }
    for (size_t i = 0; i < n; ++i) {
      handles_.push_back(MakeVariableHandle(init, containers[i], names[i], dtypes[i], shapes[i]));
    }
  }
  Status Compute(KernelContext& ctx) const override {
    for (size_t i = 0; i < handles_.size(); ++i) ctx.SetOutput(static_cast<int>(i), handles_[i]);
    return OkStatus();
  }

 private:
  std::vector<Tensor> handles_;
};

// ReadVariableOp and _ReadVariablesOp.
class ReadVariableKernel final : public Kernel {
 public:
  explicit ReadVariableKernel(KernelInit& init) : lookups_(init.node().num_inputs()) {
    if (init.node().num_inputs() != init.node().num_outputs()) {
      init.Fail(InvalidArgument(init.node().op(), " has ", init.node().num_inputs(),
                                " resources but ", init.node().num_outputs(), " dtypes"));
    }
  }

  Status Compute(KernelContext& ctx) const override {
    for (size_t i = 0; i < lookups_.size(); ++i)
      TFLEET_RETURN_IF_ERROR(Read(ctx, static_cast<int>(i)));
    return OkStatus();
  }

 private:
  Status Read(KernelContext& ctx, int i) const {
    StatusOr<ResourceRef<Variable>> variable = lookups_[i].Find(ctx, i);
    if (!variable.ok()) {
      return absl::IsNotFound(variable.status()) ? VariableNotFound(ctx, i) : variable.status();
    }
    Tensor value = (*variable)->Read();
    if (!value.is_valid()) return VariableNotFound(ctx, i);
    if (value.dtype() != ctx.node().output_type(i)) {
      return InvalidArgument("Trying to read variable with wrong dtype. Expected ",
                             DTypeName(ctx.node().output_type(i)), " got ",
                             DTypeName(value.dtype()));
    }
    ctx.SetOutput(i, std::move(value));
    return OkStatus();
  }

  std::vector<VariableLookup> lookups_;
};

class AssignVariableKernel final : public Kernel {
 public:
  explicit AssignVariableKernel(KernelInit& init) {
    init.Get("dtype", &dtype_);
    init.Get("validate_shape", &validate_shape_);
  }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor value, OwnValue(ctx.TakeInput(1)));
    TFLEET_ASSIGN_OR_RETURN(ResourceRef<Variable> variable, lookup_.FindOrMake(ctx, 0, dtype_));
    MutexLock lock(&variable->mu());
    Tensor& now = variable->mutable_tensor();
    if (validate_shape_ && now.is_valid() && now.shape() != value.shape()) {
      return InvalidArgument("Trying to assign to variable with tensor with wrong shape. Expected ",
                             now.shape().ToString(), " got ", value.shape().ToString());
    }
    std::swap(now, value);
    return OkStatus();
  }

 private:
  VariableLookup lookup_;
  DType dtype_ = DType::kInvalid;
  bool validate_shape_ = false;
};

template <bool kSubtract>
class AssignUpdateVariableKernel final : public Kernel {
 public:
  explicit AssignUpdateVariableKernel(KernelInit& init)
      : variables_(init, 1),
        dtype_(init.node().input_type(1)),
        update_(SumLoop(dtype_, kSubtract)) {}

  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(1);
    VariableUpdate update;
    TFLEET_RETURN_IF_ERROR(update.Lock(ctx, variables_, 1, dtype_));
    if (update.value(0).shape() != value.shape()) {
      return InvalidArgument("Cannot update variable with shape ",
                             update.value(0).shape().ToString(), " using a Tensor with shape ",
                             value.shape().ToString(), ", shapes must be equal.");
    }
    TFLEET_RETURN_IF_ERROR(update.PrepareElementwise());
    RunSumLoop(ctx, update_, update.value(0).raw(), value.raw(), update.raw_target(0),
               value.num_elements(), dtype_);
    update.Commit();
    return OkStatus();
  }

 private:
  const VariableInputs variables_;
  const DType dtype_;
  const SumLoopFn update_;
};

class VarIsInitializedKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    StatusOr<ResourceRef<Variable>> variable = lookup_.Find(ctx, 0);
    if (!variable.ok() && !absl::IsNotFound(variable.status())) return variable.status();
    ctx.SetOutput(0, Tensor::Scalar<bool>(variable.ok() && (*variable)->is_initialized()));
    return OkStatus();
  }

 private:
  VariableLookup lookup_;
};

template <typename T>
class VariableShapeKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(ResourceRef<Variable> variable, lookup_.Find(ctx, 0));
    const Tensor value = variable->Read();
    if (!value.is_valid()) return VariableNotFound(ctx, 0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, {value.rank()}));
    for (int i = 0; i < value.rank(); ++i) {
      if (static_cast<T>(value.dim(i)) != value.dim(i)) {
        return InvalidArgument("dimension ", i, " of the variable is ", value.dim(i),
                               ", which does not fit ", DTypeName(kDTypeOf<T>));
      }
      out.mutable_values<T>()[i] = static_cast<T>(value.dim(i));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  VariableLookup lookup_;
};

class DestroyResourceKernel final : public Kernel {
 public:
  explicit DestroyResourceKernel(KernelInit& init) { init.Get("ignore_lookup_error", &ignore_); }
  Status Compute(KernelContext& ctx) const override {
    const ResourceHandle* handle = HandleFromInput(ctx, 0);
    if (handle == nullptr)
      return InvalidArgument("DestroyResourceOp takes a scalar resource handle");
    TFLEET_RETURN_IF_ERROR(CheckHandleDevice(ctx, *handle));
    const Status removed = ctx.step().resources->Remove(*handle);
    return ignore_ && absl::IsNotFound(removed) ? OkStatus() : removed;
  }

 private:
  bool ignore_ = true;
};

// TensorFlow copies values while a checkpoint reads them unless told not to. Nothing to be told
// here.
class DisableCopyOnReadKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override { return lookup_.Find(ctx, 0).status(); }

 private:
  VariableLookup lookup_;
};

}  // namespace

void RegisterResourceVariableKernels(KernelRegistry& kernels) {
  kernels.Add<VarHandleKernel>("VarHandleOp", kCpu);
  kernels.Add<VarHandlesKernel>("_VarHandlesOp", kCpu);
  kernels.Add<ReadVariableKernel>("ReadVariableOp", kCpu);
  kernels.Add<ReadVariableKernel>("_ReadVariablesOp", kCpu);
  kernels.Add<AssignVariableKernel>("AssignVariableOp", kCpu);
  kernels.Add<VarIsInitializedKernel>("VarIsInitializedOp", kCpu);
  kernels.Add<VariableShapeKernel<int32_t>>("VariableShape", kCpu, {{"out_type", DType::kInt32}});
  kernels.Add<VariableShapeKernel<int64_t>>("VariableShape", kCpu, {{"out_type", DType::kInt64}});
  kernels.Add<DestroyResourceKernel>("DestroyResourceOp", kCpu);
  kernels.Add<DisableCopyOnReadKernel>("DisableCopyOnRead", kCpu);
  ForEachType(Numbers(), [&](auto tag) {
    const TypeConstraint constraint{"dtype", kDTypeOf<typename decltype(tag)::type>};
    kernels.Add<AssignUpdateVariableKernel<false>>("AssignAddVariableOp", kCpu, {constraint});
    kernels.Add<AssignUpdateVariableKernel<true>>("AssignSubVariableOp", kCpu, {constraint});
  });
}

}  // namespace tensorfleet::cpu
