// Two-dimensional convolutions and their gradients, each as one convolution of XLA's.
#include "runtime/graph/window_attrs.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

struct ConvShapes {
  WindowAttrs attrs;
  Window windows[2];  // rows and columns
  Shape output;

  int batch() const { return 0; }
  int channels() const { return attrs.channel_axis(); }
  int space(int i) const { return attrs.space_axis(i); }
};

StatusOr<ConvShapes> ShapesOf(LoweringContext& ctx, const Shape& image, const Shape& filter) {
  ConvShapes conv;
  const StatusOr<WindowAttrs> attrs = ReadWindowAttrs(ctx.node().def());
  if (!attrs.ok()) return Unimplemented(attrs.status().message());
  conv.attrs = *attrs;
  if (image.rank() != 4 || filter.rank() != 4) return Unimplemented("no images");
  if (image.num_elements() == 0 || filter.num_elements() == 0) return Unimplemented("nothing");
  if (image.dim(conv.channels()) != filter.dim(2)) return Unimplemented("grouped channels");
  std::vector<int64_t> dims(4);
  dims[0] = image.dim(0);
  dims[conv.channels()] = filter.dim(3);
  for (int i = 0; i < 2; ++i) {
    const StatusOr<Window> window =
        conv.attrs.AlongSpace(i, image.dim(conv.space(i)), filter.dim(i));
    if (!window.ok()) return Unimplemented(window.status().message());
    conv.windows[i] = *window;
    dims[conv.space(i)] = window->output;
  }
  TFLEET_ASSIGN_OR_RETURN(conv.output, Shape::Make(dims));
  if (conv.output.num_elements() == 0) return Unimplemented("nothing");
  return conv;
}

Status Conv2D(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const ConvShapes conv, ShapesOf(ctx, ctx.shape(0), ctx.shape(1)));
  hlo::ConvolutionDimensions dims;
  dims.set_input_batch(0);
  dims.set_output_batch(0);
  dims.set_input_feature(conv.channels());
  dims.set_output_feature(conv.channels());
  dims.set_kernel_input_feature(2);
  dims.set_kernel_output_feature(3);
  std::vector<WindowAxis> axes;
  for (int i = 0; i < 2; ++i) {
    dims.add_input_spatial(conv.space(i));
    dims.add_output_spatial(conv.space(i));
    dims.add_kernel_spatial(i);
    const Window& w = conv.windows[i];
    axes.push_back({w.size, w.stride, w.before, w.after, w.dilation, 1, false});
    // The window need not reach the end of the image.
    const int64_t reach = (w.output - 1) * w.stride + (w.size - 1) * w.dilation + 1;
    axes.back().pad_high = reach - w.input - w.before;
  }
  ctx.Set(0, ctx.hlo().Convolution(ctx.input(0), ctx.input(1), axes, dims, 1, 1, conv.output));
  return OkStatus();
}

// dx: dy spread by the strides, under the filter turned around.
Status Conv2DBackpropInput(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ctx.ConstantInts(0));
  if (sizes.size() != 4) return Unimplemented("a short input_sizes");
  TFLEET_ASSIGN_OR_RETURN(const Shape image, Shape::Make(sizes));
  TFLEET_ASSIGN_OR_RETURN(const ConvShapes conv, ShapesOf(ctx, image, ctx.shape(1)));
  if (ctx.shape(2) != conv.output) return Unimplemented("a gradient of another shape");
  hlo::ConvolutionDimensions dims;
  dims.set_input_batch(0);
  dims.set_output_batch(0);
  dims.set_input_feature(conv.channels());
  dims.set_output_feature(conv.channels());
  dims.set_kernel_input_feature(3);
  dims.set_kernel_output_feature(2);
  std::vector<WindowAxis> axes;
  for (int i = 0; i < 2; ++i) {
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
  ctx.Set(0, ctx.hlo().Convolution(ctx.input(2), ctx.input(1), axes, dims, 1, 1, image));
  return OkStatus();
}

// dw: the image under dy as the filter, batch and channels in each other's place.
Status Conv2DBackpropFilter(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ctx.ConstantInts(1));
  if (sizes.size() != 4) return Unimplemented("a short filter_sizes");
  TFLEET_ASSIGN_OR_RETURN(const Shape filter, Shape::Make(sizes));
  TFLEET_ASSIGN_OR_RETURN(const ConvShapes conv, ShapesOf(ctx, ctx.shape(0), filter));
  if (ctx.shape(2) != conv.output) return Unimplemented("a gradient of another shape");
  hlo::ConvolutionDimensions dims;
  dims.set_input_batch(conv.channels());
  dims.set_input_feature(0);
  dims.set_kernel_input_feature(0);
  dims.set_kernel_output_feature(conv.channels());
  dims.set_output_batch(2);
  dims.set_output_feature(3);
  std::vector<WindowAxis> axes;
  for (int i = 0; i < 2; ++i) {
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
  ctx.Set(0, ctx.hlo().Convolution(ctx.input(0), ctx.input(2), axes, dims, 1, 1, filter));
  return OkStatus();
}

}  // namespace

void AddConvLowerings(LoweringRegistry& r) {
  r.Add("Conv2D", Conv2D, {{"T", FloatTypes()}});
  r.Add("Conv2DBackpropInput", Conv2DBackpropInput, {{"T", FloatTypes()}});
  r.Add("Conv2DBackpropFilter", Conv2DBackpropFilter, {{"T", FloatTypes()}});
}

}  // namespace tensorfleet::pjrt
