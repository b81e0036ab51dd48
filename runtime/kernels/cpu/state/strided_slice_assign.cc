// Assignment to a strided slice of a variable, by reference and by handle.
// Schemas: runtime/ops/state/variable_update_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/state/variable_update.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/tensor/strided_slice.h"

namespace tensorfleet::cpu {
namespace {

class StridedSliceAssignKernel final : public Kernel {
 public:
  explicit StridedSliceAssignKernel(KernelInit& init)
      : variables_(init, 1), dtype_(init.node().input_type(kValue)) {
    init.Get("begin_mask", &masks_.begin);
    init.Get("end_mask", &masks_.end);
    init.Get("ellipsis_mask", &masks_.ellipsis);
    init.Get("new_axis_mask", &masks_.new_axis);
    init.Get("shrink_axis_mask", &masks_.shrink);
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(kValue);
    VariableUpdate update;
    TFLEET_RETURN_IF_ERROR(update.Lock(ctx, variables_, 1, dtype_));
    const Shape whole = update.value(0).shape();
    TFLEET_ASSIGN_OR_RETURN(const StridedSlicePlan plan, Plan(ctx, whole));
    TFLEET_ASSIGN_OR_RETURN(const Shape slice, plan.result.ToShape());
    const bool is_scalar = value.num_elements() == 1;
    if (!is_scalar && value.shape() != slice) {
      return InvalidArgument("a value of shape ", value.shape().ToString(),
                             " cannot be assigned to a slice of shape ", slice.ToString());
    }
    if (slice.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(update.PrepareInPlace(0));
      Write(ctx, plan, whole, value, is_scalar, update.raw_target(0));
    }
    variables_.ForwardRef(ctx);
    return OkStatus();
  }

 private:
  static constexpr int kValue = 4;

  StatusOr<StridedSlicePlan> Plan(const KernelContext& ctx, const Shape& whole) const {
    for (int i = 1; i < kValue; ++i) {
      if (ctx.input(i).rank() != 1 || ctx.input(i).num_elements() != ctx.input(1).num_elements()) {
        return InvalidArgument("begin, end and strides must be vectors of one length, but input ",
                               i, " has shape ", ctx.input(i).shape().ToString());
      }
    }
    std::vector<int64_t> begin, end, strides;
    return PlanStridedSlice(
        whole, {WidenedIntegers(ctx.input(1), &begin), WidenedIntegers(ctx.input(2), &end),
                WidenedIntegers(ctx.input(3), &strides), masks_});
  }

  void Write(const KernelContext& ctx, const StridedSlicePlan& plan, const Shape& whole,
             const Tensor& value, bool is_scalar, void* target) const {
    const auto whole_strides = DenseStrides(whole.dims());
    std::vector<int64_t> sizes;
    for (const StridedSliceAxis& axis : plan.axes) sizes.push_back(axis.size);
    const auto value_strides = DenseStrides(sizes);
    CopyAxes axes;
    int64_t first = 0;
    for (size_t i = 0; i < plan.axes.size(); ++i) {
      const StridedSliceAxis& axis = plan.axes[i];
      axes.push_back({axis.size, is_scalar ? 0 : value_strides[i], axis.stride * whole_strides[i]});
      first += axis.begin * whole_strides[i];
    }
    char* const to = static_cast<char*>(target) + first * static_cast<int64_t>(ElementSize(dtype_));
    StridedCopy(dtype_, axes, value.raw(), to, &ctx.pool());
  }

  const VariableInputs variables_;
  const DType dtype_;
  StridedSliceMasks masks_;
};

}  // namespace

void RegisterStridedSliceAssignKernels(KernelRegistry& kernels) {
  kernels.Add<StridedSliceAssignKernel>("StridedSliceAssign", kCpu);
  kernels.Add<StridedSliceAssignKernel>("ResourceStridedSliceAssign", kCpu);
}

}  // namespace tensorfleet::cpu
