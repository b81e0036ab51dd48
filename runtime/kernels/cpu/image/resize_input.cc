#include "runtime/kernels/cpu/image/resize_input.h"

#include "runtime/kernels/cpu/index_input.h"

namespace tensorfleet::cpu {

ResizeGrid::ResizeGrid(KernelInit& init) {
  init.Get("align_corners", &align_corners);
  if (FindAttr(init.def(), "half_pixel_centers") != nullptr) {
    init.Get("half_pixel_centers", &half_pixels);
  }
  if (align_corners && half_pixels) {
    init.Fail(InvalidArgument("If half_pixel_centers is True, align_corners must be False."));
  }
}

StatusOr<std::pair<int64_t, int64_t>> OutputSize(const Tensor& size) {
  if (size.rank() != 1) {
    return InvalidArgument("shape_t must be 1-dimensional, not of shape ", size.shape().ToString());
  }
  if (size.dim(0) != 2) return InvalidArgument("shape_t must have two elements, not ", size.dim(0));
  const int64_t height = IntegerAt(size, 0), width = IntegerAt(size, 1);
  if (height <= 0 || width <= 0) {
    return InvalidArgument("output dimensions must be positive, not ", height, " x ", width);
  }
  return std::make_pair(height, width);
}

StatusOr<ResizePlan> PlanResize(const KernelContext& ctx, const ResizeGrid& grid) {
  const Tensor& images = ctx.input(0);
  if (images.rank() != 4) {
    return InvalidArgument("input must be 4-dimensional, not of shape ", images.shape().ToString());
  }
  ResizePlan plan;
  TFLEET_ASSIGN_OR_RETURN(std::tie(plan.out_height, plan.out_width), OutputSize(ctx.input(1)));
  plan.batch = images.dim(0);
  plan.height = images.dim(1);
  plan.width = images.dim(2);
  plan.channels = images.dim(3);
  if (plan.channels <= 0) return InvalidArgument("image must have at least one channel");
  if (plan.height <= 0 || plan.width <= 0) {
    return InvalidArgument("input image must be of non-zero size, not ", plan.height, " x ",
                           plan.width);
  }
  plan.height_scale = grid.Scale(plan.height, plan.out_height);
  plan.width_scale = grid.Scale(plan.width, plan.out_width);
  return plan;
}

StatusOr<ResizePlan> PlanResizeGrad(const KernelContext& ctx, const ResizeGrid& grid) {
  const Tensor &grads = ctx.input(0), &original = ctx.input(1);
  for (const Tensor* t : {&grads, &original}) {
    if (t->rank() != 4) {
      return InvalidArgument("input_grad and original_image must be 4-dimensional, not of shape ",
                             t->shape().ToString());
    }
  }
  ResizePlan plan;
  plan.batch = grads.dim(0);
  plan.out_height = grads.dim(1);
  plan.out_width = grads.dim(2);
  plan.channels = grads.dim(3);
  plan.height = original.dim(1);
  plan.width = original.dim(2);
  if (original.dim(0) != plan.batch || original.dim(3) != plan.channels) {
    return InvalidArgument("the gradient of shape ", grads.shape().ToString(),
                           " does not belong to images of shape ", original.shape().ToString());
  }
  if (plan.height <= 0 || plan.width <= 0 || plan.out_height <= 0 || plan.out_width <= 0) {
    return InvalidArgument("original_image and input_grad must be of non-zero size");
  }
  plan.height_scale = grid.Scale(plan.height, plan.out_height);
  plan.width_scale = grid.Scale(plan.width, plan.out_width);
  return plan;
}

}  // namespace tensorfleet::cpu
