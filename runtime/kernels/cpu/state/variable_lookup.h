// How kernels reach the variables that they work on: by reference edge or by handle, with the
// resource manager asked only when something may have changed.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet::cpu {

// Remembers which resource a handle led to last time. Thread-safe; a kernel has one per handle
// input.
class VariableLookup {
 public:
  // The variable that scalar handle input `i` names.
  // Errors: NotFound `Resource C/NAME/N10tensorflow3VarE does not exist.`; InvalidArgument for what
  // is no handle or names a variable of another device.
  StatusOr<ResourceRef<Variable>> Find(KernelContext& ctx, int i) const;

  // As Find, but makes a variable of `dtype` when there is none. Errors: InvalidArgument when there
  // is one of another type.
  StatusOr<ResourceRef<Variable>> FindOrMake(KernelContext& ctx, int i, DType dtype) const;

 private:
  ResourceRef<Variable> Cached(const Tensor& handle, const ResourceManager& resources) const;
  void Remember(const Tensor& handle, const ResourceManager& resources, uint64_t generation,
                const ResourceRef<Variable>& variable) const;

  mutable Mutex mu_;
  // Holding the handle's tensor keeps its memory from being used again, so that its address
  // identifies it.
  mutable Tensor handle_ ABSL_GUARDED_BY(mu_);
  mutable const ResourceManager* resources_ ABSL_GUARDED_BY(mu_) = nullptr;
  mutable uint64_t generation_ ABSL_GUARDED_BY(mu_) = 0;
  mutable ResourceRef<Variable> variable_ ABSL_GUARDED_BY(mu_);
};

// The variables behind the first `count` inputs of a node, whichever form the node has.
class VariableInputs {
 public:
  VariableInputs(KernelInit& init, int count);

  // Errors: those of VariableLookup::Find; FailedPrecondition for a reference to nothing.
  StatusOr<ResourceRef<Variable>> Get(KernelContext& ctx, int i) const;
  // What an error calls variable `i`: the name of the node that feeds it, or of the resource.
  std::string Name(const KernelContext& ctx, int i) const;
  bool by_handle() const { return by_handle_; }
  // Hands reference input 0 on as output 0; nothing to do for handles.
  void ForwardRef(KernelContext& ctx) const {
    if (!by_handle_) ctx.SetRefOutput(0, ctx.ref_input_ptr(0));
  }

 private:
  bool by_handle_;
  std::vector<std::string> names_;  // of the nodes that feed references
  std::vector<VariableLookup> lookups_;
};

// For one who reads what is not there: FailedPrecondition `Could not find variable NAME. ...`,
// which clients take for "not initialised yet".
Status VariableNotFound(const KernelContext& ctx, int i);

// FailedPrecondition `Attempting to use uninitialized value NAME`.
Status UninitializedVariable(absl::string_view name);

}  // namespace tensorfleet::cpu
