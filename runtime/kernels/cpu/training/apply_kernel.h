// The kernel around every optimizer step, dense and sparse, by reference and by handle: it checks
// and locks the variables and runs a loop over their elements. What differs from optimizer to
// optimizer is that loop.
#pragma once

#include <vector>

#include "runtime/kernels/cpu/state/variable_update.h"
#include "runtime/kernels/cpu/training/apply_steps.h"

namespace tensorfleet::cpu {

inline constexpr int kMaxScalars = 8;

// For each of `n` elements: reads the old value of every variable, writes the new one (old[k] and
// out[k] may be the same memory). `scalars` are the node's scalar inputs in the order of its
// schema.
using ApplyLoop = void (*)(const ApplyScalar* scalars, const void* const* old, void* const* out,
                           const void* grad, int64_t n);

class ApplyKernel : public Kernel {
 public:
  // `ns_per_kilo`: the rough cost of 1024 elements.
  ApplyKernel(KernelInit& init, int num_variables, ApplyLoop loop, DType dtype, int ns_per_kilo);

  Status Compute(KernelContext& ctx) const final;
  bool IsExpensive() const final { return true; }

 private:
  Status CheckShapes(const KernelContext& ctx, const VariableUpdate& update) const;
  Status ReadScalars(const KernelContext& ctx, ApplyScalar* scalars) const;
  Status ApplyDense(KernelContext& ctx, const ApplyScalar* scalars, VariableUpdate& update) const;
  Status ApplySparse(KernelContext& ctx, const ApplyScalar* scalars, VariableUpdate& update) const;
  const std::string& InputName(int i) const { return names_[i]; }

  const VariableInputs variables_;
  const int num_variables_;
  const ApplyLoop loop_;
  const DType dtype_;
  const int ns_per_kilo_;
  int grad_ = -1;     // which input
  int indices_ = -1;  // of the sparse form
  bool checks_signs_ = false, may_lr_be_zero_ = false;
  std::vector<int> scalars_;
  std::vector<std::string> names_;
};

}  // namespace tensorfleet::cpu
