// Convolutions of images and volumes, depthwise ones too, and their gradients: each as one
// convolution of XLA's.
#include "absl/strings/match.h"
#include "runtime/graph/volume_attrs.h"
#include "runtime/graph/window_attrs.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

struct ConvShapes {
  std::vector<Window> windows;  // by space: planes, rows and columns
  int channels = 0;             // the axis of the image
  int first_space = 0;          // the axis of space 0
  bool is_depthwise = false;
  int64_t groups = 1;
  Shape output;

  int spaces() const { return static_cast<int>(windows.size()); }
  int space(int i) const { return first_space + i; }
  // Axes of the filter behind its spaces: what it takes, and what it gives.
  int filter_in() const { return spaces(); }
  int filter_out() const { return spaces() + 1; }
};

// The axes of the images, and their windows for a filter of these sizes.
template <typename Attrs>
Status SetWindows(const StatusOr<Attrs>& attrs, const Shape& image, const Shape& filter,
                  ConvShapes* conv) {
  if (!attrs.ok()) return Unimplemented(attrs.status().message());
  conv->channels = attrs->channel_axis();
  conv->first_space = attrs->space_axis(0);
  for (int i = 0; i < image.rank() - 2; ++i) {
    const StatusOr<Window> window =
        attrs->AlongSpace(i, image.dim(attrs->space_axis(i)), filter.dim(i));
    if (!window.ok()) return Unimplemented(window.status().message());
    conv->windows.push_back(*window);
  }
  return OkStatus();
}

StatusOr<ConvShapes> ShapesOf(LoweringContext& ctx, const Shape& image, const Shape& filter) {
  ConvShapes conv;
  const tensorflow::NodeDef& def = ctx.node().def();
  const bool is_volume = absl::StartsWith(def.op(), "Conv3D");
  conv.is_depthwise = absl::StartsWith(def.op(), "Depthwise");
  const int rank = is_volume ? 5 : 4;
  if (image.rank() != rank || filter.rank() != rank) return Unimplemented("no images");
  if (image.num_elements() == 0 || filter.num_elements() == 0) return Unimplemented("nothing");
  TFLEET_RETURN_IF_ERROR(is_volume ? SetWindows(ReadVolumeAttrs(def), image, filter, &conv)
                                   : SetWindows(ReadWindowAttrs(def), image, filter, &conv));
  if (image.dim(conv.channels) != filter.dim(rank - 2)) return Unimplemented("grouped channels");
  std::vector<int64_t> dims(rank);
  dims[0] = image.dim(0);
  dims[conv.channels] = filter.dim(rank - 1);
  if (conv.is_depthwise) {
    conv.groups = filter.dim(rank - 2);
    dims[conv.channels] *= conv.groups;
  }
  for (int i = 0; i < conv.spaces(); ++i) dims[conv.space(i)] = conv.windows[i].output;
  TFLEET_ASSIGN_OR_RETURN(conv.output, Shape::Make(dims));
  if (conv.output.num_elements() == 0) return Unimplemented("nothing");
  return conv;
}

// A depthwise filter [..., channels, multiplier] as [..., 1, channels * multiplier].
StatusOr<Shape> FlatFilter(const Shape& filter) {
  std::vector<int64_t> dims(filter.dims().begin(), filter.dims().end());
  dims.back() *= dims[dims.size() - 2];
  dims[dims.size() - 2] = 1;
  return Shape::Make(dims);
}

Status Forward(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const ConvShapes conv, ShapesOf(ctx, ctx.shape(0), ctx.shape(1)));
  hlo::ConvolutionDimensions dims;
  dims.set_input_batch(0);
  dims.set_output_batch(0);
  dims.set_input_feature(conv.channels);
  dims.set_output_feature(conv.channels);
  dims.set_kernel_input_feature(conv.filter_in());
  dims.set_kernel_output_feature(conv.filter_out());
  std::vector<WindowAxis> axes;
  for (int i = 0; i < conv.spaces(); ++i) {
    dims.add_input_spatial(conv.space(i));
    dims.add_output_spatial(conv.space(i));
    dims.add_kernel_spatial(i);
    const Window& w = conv.windows[i];
    axes.push_back({w.size, w.stride, w.before, w.after, w.dilation, 1, false});
    // The window need not reach the end of the image.
    const int64_t reach = (w.output - 1) * w.stride + (w.size - 1) * w.dilation + 1;
    axes.back().pad_high = reach - w.input - w.before;
  }
  Hlo filter = ctx.input(1);
  if (conv.is_depthwise) {
    TFLEET_ASSIGN_OR_RETURN(const Shape flat, FlatFilter(filter.shape));
    filter = ctx.hlo().Reshape(filter, flat);
  }
  ctx.Set(0, ctx.hlo().Convolution(ctx.input(0), filter, axes, dims, conv.groups, 1, conv.output));
  return OkStatus();
}

// dx: dy spread by the strides, under the filter turned around.
Status ImageGradient(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ctx.ConstantInts(0));
  TFLEET_ASSIGN_OR_RETURN(const Shape image, Shape::Make(sizes));
  TFLEET_ASSIGN_OR_RETURN(const ConvShapes conv, ShapesOf(ctx, image, ctx.shape(1)));
  if (ctx.shape(2) != conv.output) return Unimplemented("a gradient of another shape");
  hlo::ConvolutionDimensions dims;
  dims.set_input_batch(0);
  dims.set_output_batch(0);
  dims.set_input_feature(conv.channels);
  dims.set_output_feature(conv.channels);
  // In a group of its own each channel takes what its multiples give.
  dims.set_kernel_input_feature(conv.filter_out());
  dims.set_kernel_output_feature(conv.filter_in());
  std::vector<WindowAxis> axes;
  for (int i = 0; i < conv.spaces(); ++i) {
    dims.add_input_spatial(conv.space(i));
    dims.add_output_spatial(conv.space(i));
    dims.add_kernel_spatial(i);
    const Window& w = conv.windows[i];
    const int64_t reach = (w.size - 1) * w.dilation;
    const int64_t spread = (w.output - 1) * w.stride + 1;
    WindowAxis axis;
    axis.size = w.size;
    axis.dilation = w.dilation;
    axis.base_dilation = w.stride;
    axis.pad_low = reach - w.before;
    axis.pad_high = w.input - spread - axis.pad_low + reach;
    axis.reversed = true;
    axes.push_back(axis);
  }
  ctx.Set(0, ctx.hlo().Convolution(ctx.input(2), ctx.input(1), axes, dims, conv.groups, 1, image));
  return OkStatus();
}

// dw: the image under dy as the filter, batch and channels in each other's place.
Status FilterGradient(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ctx.ConstantInts(1));
  TFLEET_ASSIGN_OR_RETURN(const Shape filter, Shape::Make(sizes));
  TFLEET_ASSIGN_OR_RETURN(const ConvShapes conv, ShapesOf(ctx, ctx.shape(0), filter));
  if (ctx.shape(2) != conv.output) return Unimplemented("a gradient of another shape");
  hlo::ConvolutionDimensions dims;
  dims.set_input_batch(conv.channels);
  dims.set_input_feature(0);
  dims.set_kernel_input_feature(0);
  dims.set_kernel_output_feature(conv.channels);
  dims.set_output_batch(conv.filter_in());
  dims.set_output_feature(conv.filter_out());
  std::vector<WindowAxis> axes;
  for (int i = 0; i < conv.spaces(); ++i) {
    dims.add_input_spatial(conv.space(i));
    dims.add_kernel_spatial(conv.space(i));
    dims.add_output_spatial(i);
    const Window& w = conv.windows[i];
    WindowAxis axis;
    axis.size = w.output;
    axis.stride = w.dilation;
    axis.dilation = w.stride;
    axis.pad_low = w.before;
    axis.pad_high = (w.size - 1) * w.dilation + (w.output - 1) * w.stride + 1 - w.input - w.before;
    axes.push_back(axis);
  }
  HloBuilder& b = ctx.hlo();
  Shape result = filter;
  if (conv.is_depthwise) {
    TFLEET_ASSIGN_OR_RETURN(result, FlatFilter(filter));
  }
  const Hlo gradient =
      b.Convolution(ctx.input(0), ctx.input(2), axes, dims, 1, conv.groups, result);
  ctx.Set(0, b.Reshape(gradient, filter));
  return OkStatus();
}

}  // namespace

void AddConvLowerings(LoweringRegistry& r) {
  for (const auto& [op, lower] : {std::pair<const char*, Lowering>{"Conv2D", Forward},
                                  {"Conv2DBackpropInput", ImageGradient},
                                  {"Conv2DBackpropFilter", FilterGradient},
                                  {"DepthwiseConv2dNative", Forward},
                                  {"DepthwiseConv2dNativeBackpropInput", ImageGradient},
                                  {"DepthwiseConv2dNativeBackpropFilter", FilterGradient},
                                  {"Conv3D", Forward},
                                  {"Conv3DBackpropInputV2", ImageGradient},
                                  {"Conv3DBackpropFilterV2", FilterGradient}}) {
    r.Add(op, lower, {{"T", FloatTypes()}});
  }
}

}  // namespace tensorfleet::pjrt
