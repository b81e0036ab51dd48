#include "runtime/kernels/cpu/state/variable_lookup.h"

#include <utility>

namespace tensorfleet::cpu {
namespace {

StatusOr<const ResourceHandle*> CheckedHandle(KernelContext& ctx, int i) {
  const ResourceHandle* handle = HandleFromInput(ctx, i);
  if (handle == nullptr) {
    return InvalidArgument("input ", i, " of ", ctx.node().op(),
                           " must be a scalar resource handle");
  }
  TFLEET_RETURN_IF_ERROR(CheckHandleDevice(ctx, *handle));
  return handle;
}

}  // namespace

ResourceRef<Variable> VariableLookup::Cached(const Tensor& handle,
                                             const ResourceManager& resources) const {
  const uint64_t generation = resources.generation();
  MutexLock lock(&mu_);
  if (resources_ != &resources || generation_ != generation) return {};
  if (handle.raw() == nullptr || handle.raw() != handle_.raw()) return {};
  return variable_;
}

void VariableLookup::Remember(const Tensor& handle, const ResourceManager& resources,
                              uint64_t generation, const ResourceRef<Variable>& variable) const {
  // What is replaced is released after the lock.
  Tensor old_handle;
  ResourceRef<Variable> old_variable;
  MutexLock lock(&mu_);
  old_handle = std::exchange(handle_, handle);
  old_variable = std::exchange(variable_, variable);
  resources_ = &resources;
  generation_ = generation;
}

StatusOr<ResourceRef<Variable>> VariableLookup::Find(KernelContext& ctx, int i) const {
  ResourceManager& resources = *ctx.step().resources;
  if (ResourceRef<Variable> cached = Cached(ctx.input(i), resources)) return cached;
  TFLEET_ASSIGN_OR_RETURN(const ResourceHandle* handle, CheckedHandle(ctx, i));
  // Read before the look-up: a removal in between makes the entry stale, never wrong.
  const uint64_t generation = resources.generation();
  StatusOr<ResourceRef<Variable>> found = resources.Find<Variable>(handle->container, handle->name);
  if (!found.ok()) {
    return NotFound("Resource ", handle->container, "/", handle->name,
                    "/N10tensorflow3VarE does not exist.");
  }
  Remember(ctx.input(i), resources, generation, *found);
  return found;
}

StatusOr<ResourceRef<Variable>> VariableLookup::FindOrMake(KernelContext& ctx, int i,
                                                           DType dtype) const {
  ResourceManager& resources = *ctx.step().resources;
  ResourceRef<Variable> variable = Cached(ctx.input(i), resources);
  if (!variable) {
    TFLEET_ASSIGN_OR_RETURN(const ResourceHandle* handle, CheckedHandle(ctx, i));
    const uint64_t generation = resources.generation();
    TFLEET_ASSIGN_OR_RETURN(
        variable, resources.FindOrMake<Variable>(
                      handle->container, handle->name, [&]() -> StatusOr<ResourceRef<Variable>> {
                        return ResourceRef<Variable>::Adopt(new Variable(dtype));
                      }));
    Remember(ctx.input(i), resources, generation, variable);
  }
  if (variable->dtype() != dtype) {
    return InvalidArgument("Trying to assign variable with wrong dtype. Expected ",
                           DTypeName(variable->dtype()), " got ", DTypeName(dtype));
  }
  return variable;
}

VariableInputs::VariableInputs(KernelInit& init, int count)
    : by_handle_(init.node().input_type(0) == DType::kResource), lookups_(by_handle_ ? count : 0) {
  if (by_handle_) return;
  for (int i = 0; i < count; ++i) {
    const Edge* edge = init.node().in_edge(i);
    names_.push_back(edge != nullptr ? edge->src->name() : init.node().name());
  }
}

StatusOr<ResourceRef<Variable>> VariableInputs::Get(KernelContext& ctx, int i) const {
  if (by_handle_) return lookups_[i].Find(ctx, i);
  if (!ctx.ref_input_ptr(i)) {
    return InvalidArgument("input ", i, " of ", ctx.node().op(),
                           " must be a reference to a variable");
  }
  return ctx.ref_input_ptr(i);
}

std::string VariableInputs::Name(const KernelContext& ctx, int i) const {
  if (!by_handle_) return names_[i];
  const ResourceHandle* handle = HandleFromInput(ctx, i);
  return handle != nullptr ? handle->name : std::string();
}

Status VariableNotFound(const KernelContext& ctx, int i) {
  const ResourceHandle* handle = HandleFromInput(ctx, i);
  if (handle == nullptr) return InvalidArgument("input ", i, " must be a scalar resource handle");
  return FailedPrecondition("Could not find variable ", handle->name,
                            ". This could mean that the variable has been deleted. In TF1, it can "
                            "also mean the variable is "
                            "uninitialized. Debug info: container=",
                            handle->container, ", status error message=Resource ",
                            handle->container, "/", handle->name,
                            "/N10tensorflow3VarE does not exist.");
}

Status UninitializedVariable(absl::string_view name) {
  return FailedPrecondition("Attempting to use uninitialized value ", name);
}

}  // namespace tensorfleet::cpu
