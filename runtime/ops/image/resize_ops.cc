// Images of other sizes. Kernels: runtime/kernels/cpu/image/resize_*.cc, scale_translate.cc,
// crop_and_resize.cc, projective.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;
constexpr char kImages[] =
    "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}";
constexpr char kAlign[] = "align_corners: bool = false";
constexpr char kHalf[] = "half_pixel_centers: bool = false";

int64_t DimOf(const PartialShape& shape, int d) { return shape.has_rank() ? shape.dim(d) : kOpen; }

// Output 0 is input 0 with the height and width that vector input `size` spells.
Status SetResized(ShapeContext& ctx, int size, int64_t batch) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(size, 1));
  const int64_t length = DimOf(ctx.input(size), 0);
  if (length != kOpen && length != 2) {
    return InvalidArgument("Dimension must be 2 but is ", length);
  }
  const std::optional<std::vector<int64_t>> wanted = shapes::ConstantIntegers(ctx, size);
  int64_t height = kOpen, width = kOpen;
  if (wanted && wanted->size() == 2) {
    if ((*wanted)[0] < 0 || (*wanted)[1] < 0) {
      return InvalidArgument("the size of an image must not be negative, but is ", (*wanted)[0],
                             " x ", (*wanted)[1]);
    }
    height = (*wanted)[0];
    width = (*wanted)[1];
  }
  ctx.set_output(0, PartialShape({batch, height, width, DimOf(ctx.input(0), 3)}));
  return OkStatus();
}

template <int kSize>
Status ResizedShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  return SetResized(ctx, kSize, DimOf(ctx.input(0), 0));
}

// Gradients have the shape of the original image.
Status OriginalShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 4));
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

Status CheckBoxes(ShapeContext& ctx, int boxes) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(boxes, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(boxes + 1, 1));
  const int64_t sides = DimOf(ctx.input(boxes), 1);
  if (sides != kOpen && sides != 4) return InvalidArgument("Dimension must be 4 but is ", sides);
  return shapes::MergeDims(DimOf(ctx.input(boxes), 0), DimOf(ctx.input(boxes + 1), 0)).status();
}

Status CropsShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  TFLEET_RETURN_IF_ERROR(CheckBoxes(ctx, 1));
  return SetResized(ctx, 3, DimOf(ctx.input(1), 0));
}

Status CropsImageGradShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  TFLEET_RETURN_IF_ERROR(CheckBoxes(ctx, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(3, 1));
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(3));
  if (!out.has_rank()) out = PartialShape({kOpen, kOpen, kOpen, kOpen});
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status CropsBoxesGradShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 4));
  TFLEET_RETURN_IF_ERROR(CheckBoxes(ctx, 2));
  ctx.set_output(0, ctx.input(2));
  return OkStatus();
}

OpSchemaBuilder Resize(const char* name, const char* output) {
  return OpSchemaBuilder(name).Input("images: T").Input("size: int32").Output(output).Attr(kImages);
}

void RegisterResizes(OpRegistry& ops) {
  constexpr char kFloats[] = "resized_images: float";
  ops.Add(Resize("ResizeArea", kFloats)
              .Attr(kAlign)
              .Shape(ResizedShape<1>)
              .Doc("Images of another size: means over areas."));
  ops.Add(Resize("ResizeBicubic", kFloats)
              .Attr(kAlign)
              .Attr(kHalf)
              .Shape(ResizedShape<1>)
              .Doc("Images of another size, by cubic interpolation."));
  ops.Add(Resize("ResizeBilinear", kFloats)
              .Attr(kAlign)
              .Attr(kHalf)
              .Shape(ResizedShape<1>)
              .Doc("Images of another size, by linear interpolation."));
  ops.Add(Resize("ResizeNearestNeighbor", "resized_images: T")
              .Attr(kAlign)
              .Attr(kHalf)
              .Shape(ResizedShape<1>)
              .Doc("Images of another size: the nearest pixels."));
  ops.Add(OpSchemaBuilder("ResizeBicubicGrad")
              .Input("grads: float")
              .Input("original_image: T")
              .Output("output: T")
              .Attr("T: {float, double}")
              .Attr(kAlign)
              .Attr(kHalf)
              .Shape(OriginalShape)
              .Doc("The gradient of ResizeBicubic."));
  ops.Add(OpSchemaBuilder("ResizeBilinearGrad")
              .Input("grads: float")
              .Input("original_image: T")
              .Output("output: T")
              .Attr("T: {float, bfloat16, half, double}")
              .Attr(kAlign)
              .Attr(kHalf)
              .Shape(OriginalShape)
              .Doc("The gradient of ResizeBilinear."));
  ops.Add(OpSchemaBuilder("ResizeNearestNeighborGrad")
              .Input("grads: T")
              .Input("size: int32")
              .Output("output: T")
              .Attr("T: {uint8, int8, int32, half, float, double, bfloat16}")
              .Attr(kAlign)
              .Attr(kHalf)
              .Shape(ResizedShape<1>)
              .Doc("The gradient of ResizeNearestNeighbor."));
}

}  // namespace

void RegisterResizeOps(OpRegistry& ops) {
  RegisterResizes(ops);
  ops.Add(OpSchemaBuilder("ScaleAndTranslate")
              .Input("images: T")
              .Input("size: int32")
              .Input("scale: float")
              .Input("translation: float")
              .Output("resized_images: float")
              .Attr("T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}")
              .Attr("kernel_type: string = 'lanczos3'")
              .Attr("antialias: bool = true")
              .Shape(ResizedShape<1>)
              .Doc("Images of another size, scaled and moved, by a kernel."));
  ops.Add(OpSchemaBuilder("ScaleAndTranslateGrad")
              .Input("grads: T")
              .Input("original_image: T")
              .Input("scale: float")
              .Input("translation: float")
              .Output("output: T")
              .Attr("T: {float}")
              .Attr("kernel_type: string = 'lanczos3'")
              .Attr("antialias: bool = true")
              .Shape(OriginalShape)
              .Doc("The gradient of ScaleAndTranslate."));
  constexpr char kCropped[] = "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}";
  ops.Add(OpSchemaBuilder("CropAndResize")
              .Input("image: T")
              .Input("boxes: float")
              .Input("box_ind: int32")
              .Input("crop_size: int32")
              .Output("crops: float")
              .Attr(kCropped)
              .Attr("method: {'bilinear', 'nearest'} = 'bilinear'")
              .Attr("extrapolation_value: float = 0")
              .Shape(CropsShape)
              .Doc("Boxes of images, all made the same size."));
  ops.Add(OpSchemaBuilder("CropAndResizeGradImage")
              .Input("grads: float")
              .Input("boxes: float")
              .Input("box_ind: int32")
              .Input("image_size: int32")
              .Output("output: T")
              .Attr("T: {float, half, double}")
              .Attr("method: {'bilinear', 'nearest'} = 'bilinear'")
              .Shape(CropsImageGradShape)
              .Doc("The gradient of CropAndResize with regard to the images."));
  ops.Add(OpSchemaBuilder("CropAndResizeGradBoxes")
              .Input("grads: float")
              .Input("image: T")
              .Input("boxes: float")
              .Input("box_ind: int32")
              .Output("output: float")
              .Attr(kCropped)
              .Attr("method: {'bilinear'} = 'bilinear'")
              .Shape(CropsBoxesGradShape)
              .Doc("The gradient of CropAndResize with regard to the boxes."));
  constexpr char kTransformed[] = "dtype: {uint8, int32, int64, half, float, double}";
  ops.Add(OpSchemaBuilder("ImageProjectiveTransformV2")
              .Input("images: dtype")
              .Input("transforms: float")
              .Input("output_shape: int32")
              .Output("transformed_images: dtype")
              .Attr(kTransformed)
              .Attr("interpolation: string")
              .Attr("fill_mode: string = 'CONSTANT'")
              .Shape(ResizedShape<2>)
              .Doc("Images seen through projections."));
  ops.Add(OpSchemaBuilder("ImageProjectiveTransformV3")
              .Input("images: dtype")
              .Input("transforms: float")
              .Input("output_shape: int32")
              .Input("fill_value: float")
              .Output("transformed_images: dtype")
              .Attr(kTransformed)
              .Attr("interpolation: string")
              .Attr("fill_mode: string = 'CONSTANT'")
              .Shape(ResizedShape<2>)
              .Doc("Images seen through projections, with a value for what is outside."));
}

}  // namespace tensorfleet
