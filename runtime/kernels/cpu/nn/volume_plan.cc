#include "runtime/kernels/cpu/nn/volume_plan.h"

#include "absl/strings/match.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/nn/layout.h"

namespace tensorfleet::cpu {
namespace {

void ReadInto(KernelInit& init, VolumeAttrs* window) {
  StatusOr<VolumeAttrs> attrs = ReadVolumeAttrs(init.def());
  if (attrs.ok()) {
    *window = *std::move(attrs);
  } else {
    init.Fail(attrs.status());
  }
}

StatusOr<Tensor> ChannelsLast(const KernelContext& ctx, const VolumeAttrs& window,
                              const Tensor& volume) {
  return window.channels_first ? ChannelsToLast(ctx, volume) : volume;
}

Status SetFirstOutput(KernelContext& ctx, const VolumeAttrs& window, Tensor volume) {
  if (window.channels_first) {
    TFLEET_ASSIGN_OR_RETURN(volume, ChannelsToFirst(ctx, volume));
  }
  ctx.SetOutput(0, std::move(volume));
  return OkStatus();
}

StatusOr<Shape> ShapeOfVolume(const KernelContext& ctx, const VolumeAttrs& window, int i) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(i)));
  if (shape.rank() != 5) {
    return InvalidArgument("input ", i, " must spell a shape of rank 5, got ", shape.ToString());
  }
  return window.channels_first ? ShapeWithChannelsLast(shape) : shape;
}

}  // namespace

VolumeConvAttrs::VolumeConvAttrs(KernelInit& init)
    : takes_tensors_(!absl::EndsWith(init.node().op(), "V2")) {
  ReadInto(init, &window_);
}

StatusOr<ConvPlan> VolumeConvAttrs::Plan(const Shape& volume, const Shape& filter) const {
  if (filter.rank() != 5) {
    return InvalidArgument("convolution filter must be 5-dimensional: ", filter.ToString());
  }
  ConvPlan plan;
  plan.is_volume = true;
  plan.batch = volume.dim(0);
  plan.in_channels = volume.dim(4);
  plan.out_channels = filter.dim(4);
  const int64_t depth = filter.dim(3);
  if (depth < 1) return InvalidArgument("filter depth must be strictly positive, got ", depth);
  if (plan.in_channels % depth != 0) {
    return InvalidArgument(
        "Input depth must be evenly divisible by filter depth: ", plan.in_channels, " vs ", depth);
  }
  plan.groups = std::max<int64_t>(plan.in_channels / depth, 1);
  if (plan.out_channels % plan.groups != 0) {
    return InvalidArgument("output depth must be evenly divisible by number of groups: ",
                           plan.out_channels, " vs ", plan.groups);
  }
  TFLEET_ASSIGN_OR_RETURN(plan.planes, window_.AlongSpace(0, volume.dim(1), filter.dim(0)));
  TFLEET_ASSIGN_OR_RETURN(plan.rows, window_.AlongSpace(1, volume.dim(2), filter.dim(1)));
  TFLEET_ASSIGN_OR_RETURN(plan.columns, window_.AlongSpace(2, volume.dim(3), filter.dim(2)));
  TFLEET_RETURN_IF_ERROR(Shape::Make({plan.batch, plan.planes.output, plan.rows.output,
                                      plan.columns.output, plan.out_channels})
                             .status());
  return plan;
}

StatusOr<Tensor> VolumeConvAttrs::Image(KernelContext& ctx, int i, const char* name) const {
  const Tensor& volume = ctx.input(i);
  if (volume.rank() != 5) {
    return InvalidArgument("convolution ", name,
                           " must be 5-dimensional: ", volume.shape().ToString());
  }
  return ChannelsLast(ctx, window_, volume);
}

StatusOr<Shape> VolumeConvAttrs::ImageShape(KernelContext& ctx, int i, const Tensor&,
                                            const Tensor&) const {
  if (!takes_tensors_) return ShapeOfVolume(ctx, window_, i);
  if (ctx.input(i).rank() != 5) return InvalidArgument("input must be 5-dimensional");
  return ctx.input(i).shape();
}

StatusOr<Shape> VolumeConvAttrs::FilterShape(KernelContext& ctx, int i) const {
  if (takes_tensors_) return ctx.input(i).shape();
  return ShapeFromInput(ctx.input(i));
}

Status VolumeConvAttrs::SetImage(KernelContext& ctx, Tensor volume) const {
  return SetFirstOutput(ctx, window_, std::move(volume));
}

VolumePoolAttrs::VolumePoolAttrs(KernelInit& init) { ReadInto(init, &window_); }

StatusOr<VolumePoolPlan> VolumePoolAttrs::Plan(const Shape& volume) const {
  VolumePoolPlan plan;
  plan.input = volume;
  plan.batch = volume.dim(0);
  plan.channels = volume.dim(4);
  for (int d = 0; d < 3; ++d) {
    TFLEET_ASSIGN_OR_RETURN(
        plan.windows[d],
        window_.AlongSpace(d, volume.dim(1 + d), window_.ksize[window_.space_axis(d)]));
  }
  TFLEET_ASSIGN_OR_RETURN(plan.output,
                          Shape::Make({plan.batch, plan.windows[0].output, plan.windows[1].output,
                                       plan.windows[2].output, plan.channels}));
  return plan;
}

StatusOr<Tensor> VolumePoolAttrs::Volume(const KernelContext& ctx, int i) const {
  const Tensor& volume = ctx.input(i);
  if (volume.rank() != 5) {
    return InvalidArgument("input ", i, " must be 5-dimensional: ", volume.shape().ToString());
  }
  return ChannelsLast(ctx, window_, volume);
}

StatusOr<Shape> VolumePoolAttrs::VolumeShape(const KernelContext& ctx, int i) const {
  return ShapeOfVolume(ctx, window_, i);
}

Status VolumePoolAttrs::SetVolume(KernelContext& ctx, Tensor volume) const {
  return SetFirstOutput(ctx, window_, std::move(volume));
}

}  // namespace tensorfleet::cpu
