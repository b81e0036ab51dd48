#include "runtime/kernels/cpu/math/reduction_plan.h"

namespace tensorfleet::cpu {
namespace {

template <typename Index>
Status MarkAxes(const Shape& shape, const Tensor& axes, absl::InlinedVector<bool, 8>* reduced) {
  for (const int64_t axis : axes.values<Index>()) {
    if (axis < -shape.rank() || axis >= shape.rank()) {
      return InvalidArgument("Invalid reduction dimension (", axis, " for input with ",
                             shape.rank(), " dimension(s)");
    }
    const int64_t at = axis < 0 ? axis + shape.rank() : axis;
    if ((*reduced)[at]) {
      return InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: ",
                             at);
    }
    (*reduced)[at] = true;
  }
  return OkStatus();
}

}  // namespace

StatusOr<ReductionPlan> PlanReduction(const Shape& shape, const Tensor& axes, bool keep_dims) {
  absl::InlinedVector<bool, 8> reduced(shape.rank(), false);
  TFLEET_RETURN_IF_ERROR(axes.dtype() == DType::kInt32 ? MarkAxes<int32_t>(shape, axes, &reduced)
                                                       : MarkAxes<int64_t>(shape, axes, &reduced));
  ReductionPlan plan;
  absl::InlinedVector<int64_t, 8> out;
  bool last_reduced = false;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t dim = shape.dim(i);
    if (reduced[i]) plan.reduced_elements *= dim;
    if (!reduced[i])
      out.push_back(dim);
    else if (keep_dims)
      out.push_back(1);
    if (dim == 1) continue;
    if (plan.dims.empty()) {
      plan.first_is_reduced = reduced[i];
      plan.dims.push_back(dim);
    } else if (reduced[i] == last_reduced) {
      plan.dims.back() *= dim;
    } else {
      plan.dims.push_back(dim);
    }
    last_reduced = reduced[i];
  }
  TFLEET_ASSIGN_OR_RETURN(plan.out_shape, Shape::Make(out));
  return plan;
}

}  // namespace tensorfleet::cpu
