// Pools: the largest or the mean of each window of an image, and their gradients. Kernels:
// runtime/kernels/cpu/nn/max_pool.cc, max_pool_grad.cc, avg_pool.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/nn/window_shapes.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr char kFloats[] = "T: {half, bfloat16, float, double}";
constexpr char kMaxTypes[] =
    "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = "
    "DT_FLOAT";
constexpr char kReals[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";

Status SetPooled(ShapeContext& ctx, const WindowAttrs& attrs) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  const PartialShape image = shapes::ImageOrOpen(ctx.input(0));
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, shapes::SlidOver(attrs, image,
                                                             {attrs.ksize[attrs.space_axis(0)],
                                                              attrs.ksize[attrs.space_axis(1)]}));
  const int channels = attrs.channel_axis();
  if (image.has_dim(channels)) out.set_dim(channels, image.dim(channels) / attrs.ksize[channels]);
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, out);
  return OkStatus();
}

Status PoolShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const WindowAttrs attrs, ReadWindowAttrs(ctx.node().def()));
  return SetPooled(ctx, attrs);
}

// The window is known when inputs 1 and 2 are.
Status PoolV2Shape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(WindowAttrs attrs, ReadWindowAttrs(ctx.node().def()));
  const auto ksize = shapes::ConstantIntegers(ctx, 1), strides = shapes::ConstantIntegers(ctx, 2);
  if (!ksize || !strides) {
    TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
    ctx.set_output(0, PartialShape::UnknownOfRank(4));
    return OkStatus();
  }
  TFLEET_ASSIGN_OR_RETURN(attrs.ksize, WindowNumbers("ksize", *ksize));
  TFLEET_ASSIGN_OR_RETURN(attrs.strides, WindowNumbers("strides", *strides));
  return SetPooled(ctx, attrs);
}

// The gradient of a gradient has the shape of the pooled image.
Status LikeOutput(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 4));
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

Status PoolGradFromSizesShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 4));
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(0));
  ctx.set_output(0, shapes::ImageOrOpen(out));
  return OkStatus();
}

OpSchemaBuilder WithWindow(OpSchemaBuilder op, const char* padding) {
  return op.Attr("ksize: list(int) >= 4")
      .Attr("strides: list(int) >= 4")
      .Attr(absl::StrCat("padding: {", padding, "}"));
}
constexpr char kPlainPadding[] = "'SAME', 'VALID'";
constexpr char kAnyPadding[] = "'SAME', 'VALID', 'EXPLICIT'";
constexpr char kFormat[] = "data_format: {'NHWC', 'NCHW'} = 'NHWC'";
constexpr char kWideFormat[] = "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'";

OpSchemaBuilder GradientInputs(const char* name) {
  return OpSchemaBuilder(name)
      .Input("orig_input: T")
      .Input("orig_output: T")
      .Input("grad: T")
      .Output("output: T");
}

void RegisterMaxPoolOps(OpRegistry& ops) {
  ops.Add(WithWindow(OpSchemaBuilder("MaxPool").Input("input: T").Output("output: T"), kAnyPadding)
              .Attr(kMaxTypes)
              .Attr("explicit_paddings: list(int) = []")
              .Attr(kWideFormat)
              .Shape(PoolShape)
              .Doc("The largest element of each window of an image."));
  ops.Add(OpSchemaBuilder("MaxPoolV2")
              .Input("input: T")
              .Input("ksize: int32")
              .Input("strides: int32")
              .Output("output: T")
              .Attr(kMaxTypes)
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr(kWideFormat)
              .Shape(PoolV2Shape)
              .Doc("MaxPool with the window as inputs."));
  ops.Add(
      WithWindow(OpSchemaBuilder("MaxPoolWithArgmax")
                     .Input("input: T")
                     .Output("output: T")
                     .Output("argmax: Targmax")
                     .Attr("Targmax: {int32, int64} = DT_INT64"),
                 kPlainPadding)
          .Attr("include_batch_in_index: bool = false")
          .Attr(kReals)
          .Shape(PoolShape)
          .Doc("The largest element of each window, and its flat position in the image or, with "
               "include_batch_in_index, in all of them."));
  ops.Add(WithWindow(GradientInputs("MaxPoolGrad"), kAnyPadding)
              .Attr("explicit_paddings: list(int) = []")
              .Attr(kFormat)
              .Attr(absl::StrCat(kReals, " = DT_FLOAT"))
              .Shape(shapes::Unchanged)
              .Doc("The gradient of MaxPool: each window's gradient goes to its first largest "
                   "element."));
  ops.Add(GradientInputs("MaxPoolGradV2")
              .Input("ksize: int32")
              .Input("strides: int32")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr(kFormat)
              .Attr(absl::StrCat(kReals, " = DT_FLOAT"))
              .Shape(shapes::Unchanged)
              .Doc("MaxPoolGrad with the window as inputs."));
  ops.Add(
      WithWindow(GradientInputs("MaxPoolGradGrad"), kPlainPadding)
          .Attr(kFormat)
          .Attr(kReals)
          .Shape(LikeOutput)
          .Doc("The gradient of MaxPoolGrad: for each window, the gradient at its first largest "
               "element."));
  ops.Add(GradientInputs("MaxPoolGradGradV2")
              .Input("ksize: int32")
              .Input("strides: int32")
              .Attr("padding: {'SAME', 'VALID'}")
              .Attr(kFormat)
              .Attr(kReals)
              .Shape(LikeOutput)
              .Doc("MaxPoolGradGrad with the window as inputs."));
  ops.Add(WithWindow(OpSchemaBuilder("MaxPoolGradWithArgmax")
                         .Input("input: T")
                         .Input("grad: T")
                         .Input("argmax: Targmax")
                         .Output("output: T"),
                     kPlainPadding)
              .Attr("include_batch_in_index: bool = false")
              .Attr("Targmax: {int32, int64}")
              .Attr(kReals)
              .Shape(shapes::Unchanged)
              .Doc("The gradient of MaxPoolWithArgmax."));
}

}  // namespace

void RegisterPoolOps(OpRegistry& ops) {
  RegisterMaxPoolOps(ops);
  ops.Add(
      WithWindow(OpSchemaBuilder("AvgPool").Input("value: T").Output("output: T"), kPlainPadding)
          .Attr(kFormat)
          .Attr(kFloats)
          .Shape(PoolShape)
          .Doc("The mean of the elements of each window that are inside the image."));
  ops.Add(WithWindow(OpSchemaBuilder("AvgPoolGrad")
                         .Input("orig_input_shape: int32")
                         .Input("grad: T")
                         .Output("output: T"),
                     kPlainPadding)
              .Attr(kFormat)
              .Attr(kFloats)
              .Shape(PoolGradFromSizesShape)
              .Doc("The gradient of AvgPool."));
}

}  // namespace tensorfleet
