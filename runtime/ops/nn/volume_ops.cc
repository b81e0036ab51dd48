// Convolutions and pools over volumes, and grayscale dilation. Kernels:
// runtime/kernels/cpu/nn/conv.cc, conv_grad.cc, volume_pool.cc and dilation.cc.
#include <array>
#include <string>
#include <vector>

#include "runtime/graph/volume_attrs.h"
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

// `volume` after windows of `sizes` taps (-1 where open) slid over its spaces; channels stay.
StatusOr<PartialShape> SlidOver(const VolumeAttrs& attrs, const PartialShape& volume,
                                const std::array<int64_t, 3>& sizes) {
  PartialShape out = volume.has_rank() ? volume : PartialShape::UnknownOfRank(5);
  for (int d = 0; d < 3; ++d) {
    const int axis = attrs.space_axis(d);
    if (!out.has_dim(axis) || sizes[d] < 0) {
      out.set_dim(axis, kOpen);
      continue;
    }
    TFLEET_ASSIGN_OR_RETURN(const Window window, attrs.AlongSpace(d, out.dim(axis), sizes[d]));
    out.set_dim(axis, window.output);
  }
  return out;
}

Status Conv3DShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 5));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 5));
  TFLEET_ASSIGN_OR_RETURN(const VolumeAttrs attrs, ReadVolumeAttrs(ctx.node().def()));
  const PartialShape& filter = ctx.input(1);
  std::array<int64_t, 3> sizes = {kOpen, kOpen, kOpen};
  if (filter.has_rank()) sizes = {filter.dim(0), filter.dim(1), filter.dim(2)};
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, SlidOver(attrs, ctx.input(0), sizes));
  out.set_dim(attrs.channel_axis(), filter.has_rank() ? filter.dim(4) : kOpen);
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status Pool3DShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 5));
  TFLEET_ASSIGN_OR_RETURN(const VolumeAttrs attrs, ReadVolumeAttrs(ctx.node().def()));
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, SlidOver(attrs, ctx.input(0),
                                                     {attrs.ksize[attrs.space_axis(0)],
                                                      attrs.ksize[attrs.space_axis(1)],
                                                      attrs.ksize[attrs.space_axis(2)]}));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

template <int kInput>
Status LikeVolume(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(kInput, 5));
  const PartialShape& in = ctx.input(kInput);
  ctx.set_output(0, in.has_rank() ? in : PartialShape::UnknownOfRank(5));
  return OkStatus();
}

template <int kInput>
Status SpelledVolume(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(kInput));
  if (out.has_rank() && out.rank() != 5) {
    return InvalidArgument("Shape must be rank 5 but is ", out.ToString());
  }
  ctx.set_output(0, out.has_rank() ? std::move(out) : PartialShape::UnknownOfRank(5));
  return OkStatus();
}

Status DilationShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 3));
  const PartialShape &in = ctx.input(0), &filter = ctx.input(1);
  PartialShape out = in.has_rank() ? in : PartialShape::UnknownOfRank(4);
  TFLEET_ASSIGN_OR_RETURN(const auto strides, ctx.Attr<std::vector<int64_t>>("strides"));
  TFLEET_ASSIGN_OR_RETURN(const auto rates, ctx.Attr<std::vector<int64_t>>("rates"));
  TFLEET_ASSIGN_OR_RETURN(const std::string name, ctx.Attr<std::string>("padding"));
  TFLEET_ASSIGN_OR_RETURN(const Padding padding, PaddingFromName(name));
  if (strides.size() != 4 || rates.size() != 4) {
    return InvalidArgument(
        "Dilation2D requires the stride and rate attributes to contain 4 values");
  }
  for (int d = 1; d <= 2; ++d) {
    if (!out.has_dim(d) || !filter.has_rank() || !filter.has_dim(d - 1)) {
      out.set_dim(d, kOpen);
      continue;
    }
    TFLEET_ASSIGN_OR_RETURN(const Window window, MakeWindow(out.dim(d), filter.dim(d - 1), rates[d],
                                                            strides[d], padding));
    out.set_dim(d, window.output);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

template <int kInput>
Status LikeInput(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(kInput));
  return OkStatus();
}

}  // namespace

void RegisterVolumeOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("AvgPool3D")
              .Input("input: T")
              .Output("output: T")
              .Attr("ksize: list(int) >= 5")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
              .Attr("T: {half, bfloat16, float, double}")
              .Shape(Pool3DShape)
              .Doc("The mean of the elements of each window that are inside the volume."));
  ops.Add(OpSchemaBuilder("AvgPool3DGrad")
              .Input("orig_input_shape: int32")
              .Input("grad: T")
              .Output("output: T")
              .Attr("ksize: list(int) >= 5")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
              .Attr("T: {half, bfloat16, float, double}")
              .Shape(SpelledVolume<0>)
              .Doc("The gradient of AvgPool3D."));
  ops.Add(OpSchemaBuilder("Conv3D")
              .Input("input: T")
              .Input("filter: T")
              .Output("output: T")
              .Attr("T: {half, bfloat16, float, double}")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
              .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
              .Shape(Conv3DShape)
              .Doc("The convolution of volumes with filters."));
  ops.Add(OpSchemaBuilder("Conv3DBackpropFilter")
              .Input("input: T")
              .Input("filter: T")
              .Input("out_backprop: T")
              .Output("output: T")
              .Attr("T: {half, float, double}")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
              .Shape(LikeVolume<1>)
              .Doc("The old form of Conv3DBackpropFilterV2, with the filter for its shape."));
  ops.Add(OpSchemaBuilder("Conv3DBackpropFilterV2")
              .Input("input: T")
              .Input("filter_sizes: int32")
              .Input("out_backprop: T")
              .Output("output: T")
              .Attr("T: {half, bfloat16, float, double}")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
              .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
              .Shape(SpelledVolume<1>)
              .Doc("The gradient of Conv3D for its filter."));
  ops.Add(OpSchemaBuilder("Conv3DBackpropInput")
              .Input("input: T")
              .Input("filter: T")
              .Input("out_backprop: T")
              .Output("output: T")
              .Attr("T: {half, float, double}")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
              .Shape(LikeVolume<0>)
              .Doc("The old form of Conv3DBackpropInputV2, with the volume for its shape."));
  ops.Add(OpSchemaBuilder("Conv3DBackpropInputV2")
              .Input("input_sizes: Tshape")
              .Input("filter: T")
              .Input("out_backprop: T")
              .Output("output: T")
              .Attr("T: {half, bfloat16, float, double}")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
              .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
              .Attr("Tshape: {int32, int64} = DT_INT32")
              .Shape(SpelledVolume<0>)
              .Doc("The gradient of Conv3D for its volume."));
  ops.Add(
      OpSchemaBuilder("Dilation2D")
          .Input("input: T")
          .Input("filter: T")
          .Output("output: T")
          .Attr("T: realnumbertype")
          .Attr("strides: list(int) >= 4")
          .Attr("rates: list(int) >= 4")
          .Attr("padding: {'SAME', 'VALID'}")
          .Shape(DilationShape)
          .Doc("The largest sum of an image and a filter within each window, channel by channel."));
  ops.Add(OpSchemaBuilder("Dilation2DBackpropFilter")
              .Input("input: T")
              .Input("filter: T")
              .Input("out_backprop: T")
              .Output("filter_backprop: T")
              .Attr("T: realnumbertype")
              .Attr("strides: list(int) >= 4")
              .Attr("rates: list(int) >= 4")
              .Attr("padding: {'SAME', 'VALID'}")
              .Shape(LikeInput<1>)
              .Doc("The gradient of Dilation2D for its filter."));
  ops.Add(OpSchemaBuilder("Dilation2DBackpropInput")
              .Input("input: T")
              .Input("filter: T")
              .Input("out_backprop: T")
              .Output("in_backprop: T")
              .Attr("T: realnumbertype")
              .Attr("strides: list(int) >= 4")
              .Attr("rates: list(int) >= 4")
              .Attr("padding: {'SAME', 'VALID'}")
              .Shape(LikeInput<0>)
              .Doc("The gradient of Dilation2D for its image."));
  ops.Add(OpSchemaBuilder("MaxPool3D")
              .Input("input: T")
              .Output("output: T")
              .Attr("ksize: list(int) >= 5")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
              .Attr("T: {half, bfloat16, float}")
              .Shape(Pool3DShape)
              .Doc("The largest element of each window of a volume."));
  ops.Add(OpSchemaBuilder("MaxPool3DGrad")
              .Input("orig_input: TInput")
              .Input("orig_output: TInput")
              .Input("grad: T")
              .Output("output: T")
              .Attr("ksize: list(int) >= 5")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
              .Attr("T: {half, bfloat16, float} = DT_FLOAT")
              .Attr("TInput: {half, bfloat16, float} = DT_FLOAT")
              .Shape(LikeVolume<0>)
              .Doc("The gradient of MaxPool3D."));
  ops.Add(OpSchemaBuilder("MaxPool3DGradGrad")
              .Input("orig_input: T")
              .Input("orig_output: T")
              .Input("grad: T")
              .Output("output: T")
              .Attr("ksize: list(int) >= 5")
              .Attr("strides: list(int) >= 5")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
              .Attr("T: realnumbertype")
              .Shape(LikeVolume<1>)
              .Doc("The gradient of MaxPool3DGrad."));
}

}  // namespace tensorfleet
