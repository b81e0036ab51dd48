// Convolutions of images, plain and depthwise, and their gradients. Kernels:
// runtime/kernels/cpu/nn/conv.cc, conv_grad.cc, depthwise_conv.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/nn/window_shapes.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;
constexpr char kFloats[] = "T: {half, bfloat16, float, double}";
constexpr char kFloatsAndInt[] = "T: {half, bfloat16, float, double, int32}";

// Filters are [rows, columns, in, out], for depthwise convolutions [rows, columns, in, multiplier].
template <bool kDepthwise>
Status ConvShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const WindowAttrs attrs, ReadWindowAttrs(ctx.node().def()));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 4));
  const PartialShape image = shapes::ImageOrOpen(ctx.input(0)),
                     filter = shapes::ImageOrOpen(ctx.input(1));
  TFLEET_ASSIGN_OR_RETURN(PartialShape out,
                          shapes::SlidOver(attrs, image, {filter.dim(0), filter.dim(1)}));
  out.set_dim(attrs.channel_axis(),
              kDepthwise ? shapes::MultiplyDims(filter.dim(2), filter.dim(3)) : filter.dim(3));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// The image whose shape is spelled by input 0; two numbers mean its spaces.
template <bool kDepthwise>
Status InputGradientShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const WindowAttrs attrs, ReadWindowAttrs(ctx.node().def()));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 4));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 4));
  const auto sizes = shapes::ConstantIntegers(ctx, 0);
  PartialShape out = PartialShape::UnknownOfRank(4);
  if (sizes && sizes->size() == 4) {
    out = PartialShape(*sizes);
  } else if (ctx.input(2).has_rank()) {
    out.set_dim(0, ctx.input(2).dim(0));
    if (sizes && sizes->size() == 2 && !kDepthwise) {
      out.set_dim(attrs.space_axis(0), (*sizes)[0]);
      out.set_dim(attrs.space_axis(1), (*sizes)[1]);
    }
  }
  for (const int64_t dim : out.dims()) {
    if (dim < kOpen) return InvalidArgument("input_sizes has the negative size ", dim);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status FilterGradientShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ReadWindowAttrs(ctx.node().def()).status());
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 4));
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(1));
  if (out.has_rank() && out.rank() != 4) {
    return InvalidArgument("filter_sizes must have 4 elements, not ", out.rank());
  }
  ctx.set_output(0, shapes::ImageOrOpen(out));
  return OkStatus();
}

OpSchemaBuilder ConvOp(const char* name, const char* types, bool is_depthwise) {
  OpSchemaBuilder op(name);
  op.Output("output: T").Attr(types).Attr("strides: list(int)");
  if (!is_depthwise) op.Attr("use_cudnn_on_gpu: bool = true");
  return op.Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
      .Attr("explicit_paddings: list(int) = []")
      .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
      .Attr("dilations: list(int) = [1, 1, 1, 1]");
}

}  // namespace

void RegisterConvOps(OpRegistry& ops) {
  ops.Add(ConvOp("Conv2D", kFloatsAndInt, false)
              .Input("input: T")
              .Input("filter: T")
              .Shape(ConvShape<false>)
              .Doc("Each output is the sum of products of a window of the image with a filter. The "
                   "filter is [rows, columns, in channels, out channels]; with fewer in channels "
                   "than the image has, the channels are convolved in groups."));
  ops.Add(ConvOp("Conv2DBackpropInput", kFloatsAndInt, false)
              .Input("input_sizes: int32")
              .Input("filter: T")
              .Input("out_backprop: T")
              .Shape(InputGradientShape<false>)
              .Doc("The gradient of Conv2D for its image."));
  ops.Add(ConvOp("Conv2DBackpropFilter", kFloats, false)
              .Input("input: T")
              .Input("filter_sizes: int32")
              .Input("out_backprop: T")
              .Shape(FilterGradientShape)
              .Doc("The gradient of Conv2D for its filter."));
  ops.Add(ConvOp("DepthwiseConv2dNative", kFloats, true)
              .Input("input: T")
              .Input("filter: T")
              .Shape(ConvShape<true>)
              .Doc("Convolves every channel on its own, each with as many filters as the last "
                   "dimension of the filter says."));
  ops.Add(ConvOp("DepthwiseConv2dNativeBackpropInput", kFloats, true)
              .Input("input_sizes: int32")
              .Input("filter: T")
              .Input("out_backprop: T")
              .Shape(InputGradientShape<true>)
              .Doc("The gradient of DepthwiseConv2dNative for its image."));
  ops.Add(ConvOp("DepthwiseConv2dNativeBackpropFilter", kFloats, true)
              .Input("input: T")
              .Input("filter_sizes: int32")
              .Input("out_backprop: T")
              .Shape(FilterGradientShape)
              .Doc("The gradient of DepthwiseConv2dNative for its filter."));
}

}  // namespace tensorfleet
