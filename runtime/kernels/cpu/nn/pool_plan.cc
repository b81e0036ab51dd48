#include "runtime/kernels/cpu/nn/pool_plan.h"

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/nn/layout.h"

namespace tensorfleet::cpu {
namespace {

StatusOr<PoolPlan> PlanOverChannels(const std::array<int64_t, 4>& ksize,
                                    const std::array<int64_t, 4>& strides, int channel_axis,
                                    const Shape& image) {
  const int64_t window = ksize[channel_axis];
  for (int i = 1; i < 4; ++i) {
    if (i != channel_axis && (ksize[i] != 1 || strides[i] != 1)) {
      return Unimplemented(
          "MaxPooling supports exactly one of pooling across depth or pooling across "
          "width/height.");
    }
  }
  if (image.dim(3) % window != 0) {
    return Unimplemented(
        "Depthwise max pooling requires the depth window to evenly divide the input depth.");
  }
  if (strides[channel_axis] != window) {
    return Unimplemented(
        "Depthwise max pooling requires the depth window to equal the depth stride.");
  }
  PoolPlan plan;
  plan.channels = 1;
  plan.batch = image.dim(0) * image.dim(1) * image.dim(2);
  plan.rows.input = plan.rows.output = 1;
  TFLEET_ASSIGN_OR_RETURN(plan.columns,
                          MakeWindow(image.dim(3), window, 1, window, Padding::kValid));
  TFLEET_ASSIGN_OR_RETURN(plan.output, image.WithDim(3, image.dim(3) / window));
  return plan;
}

}  // namespace

PoolAttrs::PoolAttrs(KernelInit& init, int window_input) : window_input_(window_input) {
  StatusOr<WindowAttrs> attrs = ReadWindowAttrs(init.def());
  if (!attrs.ok()) {
    init.Fail(attrs.status());
    return;
  }
  window_ = *std::move(attrs);
}

StatusOr<PoolPlan> PoolAttrs::Plan(const KernelContext& ctx, const Shape& image) const {
  WindowAttrs window = window_;
  if (window_input_ >= 0) {
    TFLEET_ASSIGN_OR_RETURN(window.ksize,
                            WindowNumbers("ksize", IntegersOf(ctx.input(window_input_))));
    TFLEET_ASSIGN_OR_RETURN(window.strides,
                            WindowNumbers("strides", IntegersOf(ctx.input(window_input_ + 1))));
  }
  if (window.ksize[0] != 1 || window.strides[0] != 1) {
    return Unimplemented("Pooling is not yet supported on the batch dimension.");
  }
  const int channel_axis = window.channel_axis();
  if (window.ksize[channel_axis] != 1 || window.strides[channel_axis] != 1) {
    return PlanOverChannels(window.ksize, window.strides, channel_axis, image);
  }
  PoolPlan plan;
  plan.batch = image.dim(0);
  plan.channels = image.dim(3);
  TFLEET_ASSIGN_OR_RETURN(plan.rows,
                          window.AlongSpace(0, image.dim(1), window.ksize[window.space_axis(0)]));
  TFLEET_ASSIGN_OR_RETURN(plan.columns,
                          window.AlongSpace(1, image.dim(2), window.ksize[window.space_axis(1)]));
  TFLEET_ASSIGN_OR_RETURN(
      plan.output, Shape::Make({plan.batch, plan.rows.output, plan.columns.output, plan.channels}));
  return plan;
}

StatusOr<Tensor> PoolAttrs::Image(const KernelContext& ctx, int i) const {
  const Tensor& image = ctx.input(i);
  if (image.rank() != 4) {
    return InvalidArgument("input ", i, " of ", ctx.node().op(),
                           " must be 4-dimensional, but has shape ", image.shape().ToString());
  }
  return window_.channels_first ? ChannelsToLast(ctx, image) : image;
}

StatusOr<Shape> PoolAttrs::ImageShape(const KernelContext& ctx, int i) const {
  const Tensor& sizes = ctx.input(i);
  if (sizes.rank() != 1 || sizes.num_elements() != 4) {
    return InvalidArgument("the shape of the image must be 1-dimensional and 4 elements, not ",
                           sizes.ToString());
  }
  TFLEET_ASSIGN_OR_RETURN(Shape shape, ShapeFromInput(sizes));
  return window_.channels_first ? ShapeWithChannelsLast(shape) : shape;
}

Status PoolAttrs::SetImage(KernelContext& ctx, int i, Tensor image) const {
  if (window_.channels_first) {
    TFLEET_ASSIGN_OR_RETURN(image, ChannelsToFirst(ctx, image));
  }
  ctx.SetOutput(i, std::move(image));
  return OkStatus();
}

}  // namespace tensorfleet::cpu
