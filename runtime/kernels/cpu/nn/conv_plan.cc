#include "runtime/kernels/cpu/nn/conv_plan.h"

#include <tuple>

#include "absl/strings/match.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/nn/layout.h"

namespace tensorfleet::cpu {

ConvAttrs::ConvAttrs(KernelInit& init)
    : is_depthwise_(absl::StartsWith(init.node().op(), "Depthwise")) {
  StatusOr<WindowAttrs> attrs = ReadWindowAttrs(init.def());
  if (!attrs.ok()) {
    init.Fail(attrs.status());
    return;
  }
  window_ = *std::move(attrs);
  if (window_.strides[0] != 1 || window_.strides[window_.channel_axis()] != 1) {
    init.Fail(Unimplemented(
        "Current implementation does not yet support strides in the batch and depth dimensions."));
  }
}

StatusOr<ConvPlan> ConvAttrs::Plan(const Shape& image, const Shape& filter) const {
  if (filter.rank() != 4) {
    return InvalidArgument("convolution filter must be 4-dimensional: ", filter.ToString());
  }
  ConvPlan plan;
  plan.batch = image.dim(0);
  plan.in_channels = image.dim(3);
  const int64_t depth = filter.dim(2);
  if (is_depthwise_) {
    if (depth != plan.in_channels) {
      return InvalidArgument("input and filter must have the same depth: ", plan.in_channels,
                             " vs ", depth);
    }
    plan.groups = std::max<int64_t>(depth, 1);
    plan.out_channels = depth * filter.dim(3);
  } else {
    if (depth < 1) return InvalidArgument("filter depth must be strictly positive, got ", depth);
    if (plan.in_channels % depth != 0) {
      return InvalidArgument("input depth must be evenly divisible by filter depth: ",
                             plan.in_channels, " vs ", depth);
    }
    plan.groups = std::max<int64_t>(plan.in_channels / depth, 1);
    plan.out_channels = filter.dim(3);
    if (plan.out_channels % plan.groups != 0) {
      return InvalidArgument("output depth must be evenly divisible by number of groups: ",
                             plan.out_channels, " vs ", plan.groups);
    }
  }
  TFLEET_ASSIGN_OR_RETURN(plan.rows, window_.AlongSpace(0, image.dim(1), filter.dim(0)));
  TFLEET_ASSIGN_OR_RETURN(plan.columns, window_.AlongSpace(1, image.dim(2), filter.dim(1)));
  // From here on products of these dimensions are known to fit.
  TFLEET_RETURN_IF_ERROR(
      Shape::Make({plan.batch, plan.rows.output, plan.columns.output, plan.out_channels}).status());
  return plan;
}

StatusOr<Tensor> ConvAttrs::Image(KernelContext& ctx, int i, const char* name) const {
  const Tensor& image = ctx.input(i);
  if (image.rank() != 4) {
    return InvalidArgument("convolution ", name,
                           " must be 4-dimensional: ", image.shape().ToString());
  }
  return channels_first() ? ChannelsToLast(ctx, image) : image;
}

StatusOr<Shape> ConvAttrs::ImageShape(KernelContext& ctx, int i, const Tensor& filter,
                                      const Tensor& out_backprop) const {
  const Tensor& sizes = ctx.input(i);
  if (sizes.rank() != 1 || (sizes.num_elements() != 4 && sizes.num_elements() != 2)) {
    return InvalidArgument(ctx.node().op(),
                           " requires input_sizes to contain 4 values or 2 values, ",
                           "but got shape: ", sizes.shape().ToString());
  }
  const Integers dims = IntegersOf(sizes);
  if (dims.size() == 2) {
    if (filter.rank() != 4) {
      return InvalidArgument("convolution filter must be 4-dimensional: ",
                             filter.shape().ToString());
    }
    return Shape::Make({out_backprop.dim(0), dims[0], dims[1], filter.dim(2)});
  }
  TFLEET_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  return channels_first() ? ShapeWithChannelsLast(shape) : shape;
}

StatusOr<Shape> ConvAttrs::FilterShape(KernelContext& ctx, int i) const {
  return ShapeFromInput(ctx.input(i));
}

Status ConvAttrs::SetImage(KernelContext& ctx, Tensor image) const {
  if (channels_first()) {
    TFLEET_ASSIGN_OR_RETURN(image, ChannelsToFirst(ctx, image));
  }
  ctx.SetOutput(0, std::move(image));
  return OkStatus();
}

Status CheckOutBackprop(const KernelContext& ctx, const ConvPlan& plan, const Shape& out_backprop) {
  const std::string& op = ctx.node().op();
  if (out_backprop.dim(0) != plan.batch) {
    return InvalidArgument(op, ": input and out_backprop must have the same batch size. Input ",
                           "batch: ", plan.batch, ", outbackprop batch: ", out_backprop.dim(0));
  }
  if (out_backprop.dim(-1) != plan.out_channels) {
    return InvalidArgument(op, ": filter and out_backprop must have the same out_depth: ",
                           plan.out_channels, " vs ", out_backprop.dim(-1));
  }
  for (const auto& [axis, expected, name] :
       {std::tuple(-3, plan.rows.output, "rows"), std::tuple(-2, plan.columns.output, "columns"),
        std::tuple(-4, plan.planes.output, "planes")}) {
    if (axis == -4 && !plan.is_volume) continue;
    if (out_backprop.dim(axis) != expected) {
      return InvalidArgument(op, ": Size of out_backprop doesn't match computed: actual = ",
                             out_backprop.dim(axis), ", computed = ", expected, ", ", name);
    }
  }
  return OkStatus();
}

}  // namespace tensorfleet::cpu
