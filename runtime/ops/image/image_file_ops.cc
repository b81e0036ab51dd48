// Images as files hold them. Kernels: runtime/kernels/cpu/image/decode_image.cc, encode_image.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

StatusOr<int64_t> ChannelsOf(const ShapeContext& ctx) {
  if (FindAttr(ctx.node().def(), "channels") == nullptr) return kOpen;
  TFLEET_ASSIGN_OR_RETURN(const int64_t channels, ctx.Attr<int64_t>("channels"));
  if (channels < 0) return InvalidArgument("channels must be non-negative, got ", channels);
  return channels == 0 ? kOpen : channels;
}

// Height, width, channels.
Status DecodedShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 0));
  TFLEET_ASSIGN_OR_RETURN(const int64_t channels, ChannelsOf(ctx));
  ctx.set_output(0, PartialShape({kOpen, kOpen, channels}));
  return OkStatus();
}

// Some formats have frames.
Status DecodedAnyShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const bool expands, ctx.Attr<bool>("expand_animations"));
  if (!expands) return DecodedShape(ctx);
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 0));
  return ChannelsOf(ctx).status();
}

Status DecodedFramesShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 0));
  ctx.set_output(0, PartialShape({kOpen, kOpen, kOpen, 3}));
  return OkStatus();
}

Status DecodedWindowShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 0));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  TFLEET_ASSIGN_OR_RETURN(const int64_t channels, ChannelsOf(ctx));
  const std::optional<std::vector<int64_t>> window = shapes::ConstantIntegers(ctx, 1);
  int64_t height = kOpen, width = kOpen;
  if (window && window->size() == 4 && (*window)[2] >= 0 && (*window)[3] >= 0) {
    height = (*window)[2];
    width = (*window)[3];
  }
  ctx.set_output(0, PartialShape({height, width, channels}));
  return OkStatus();
}

Status EncodedShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 3));
  const PartialShape& images = ctx.input(0);
  if (images.has_rank()) ctx.set_output(0, shapes::Part(images, 0, images.rank() - 3));
  return OkStatus();
}

Status EncodedOneShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 3));
  if (ctx.num_inputs() > 1) TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 0));
  ctx.set_output(0, shapes::ScalarShape());
  return OkStatus();
}

Status JpegShapeShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 0));
  ctx.set_output(0, shapes::VectorOf(3));
  return OkStatus();
}

// What the ops for JPEG files have in common.
OpSchemaBuilder Jpeg(const char* name) {
  return OpSchemaBuilder(name)
      .Input("contents: string")
      .Output("image: uint8")
      .Attr("channels: int = 0")
      .Attr("ratio: int = 1")
      .Attr("fancy_upscaling: bool = true")
      .Attr("try_recover_truncated: bool = false")
      .Attr("acceptable_fraction: float = 1.0")
      .Attr("dct_method: string = ''");
}

}  // namespace

void RegisterImageFileOps(OpRegistry& ops) {
  ops.Add(Jpeg("DecodeJpeg").Shape(DecodedShape).Doc("The pixels of a JPEG image."));
  ops.Add(Jpeg("DecodeAndCropJpeg")
              .Input("crop_window: int32")
              .Shape(DecodedWindowShape)
              .Doc("The pixels of a window of a JPEG image; the rest is not decoded."));
  ops.Add(OpSchemaBuilder("DecodePng")
              .Input("contents: string")
              .Output("image: dtype")
              .Attr("channels: int = 0")
              .Attr("dtype: {uint8, uint16} = DT_UINT8")
              .Shape(DecodedShape)
              .Doc("The pixels of a PNG image."));
  ops.Add(OpSchemaBuilder("DecodeBmp")
              .Input("contents: string")
              .Output("image: uint8")
              .Attr("channels: int = 0")
              .Shape(DecodedShape)
              .Doc("The pixels of a BMP image."));
  ops.Add(OpSchemaBuilder("DecodeGif")
              .Input("contents: string")
              .Output("image: uint8")
              .Shape(DecodedFramesShape)
              .Doc("The frames of a GIF image."));
  ops.Add(OpSchemaBuilder("DecodeImage")
              .Input("contents: string")
              .Output("image: dtype")
              .Attr("channels: int = 0")
              .Attr("dtype: {uint8, uint16, float} = DT_UINT8")
              .Attr("expand_animations: bool = true")
              .Shape(DecodedAnyShape)
              .Doc("The pixels of a JPEG, PNG, GIF or BMP image."));
  ops.Add(OpSchemaBuilder("ExtractJpegShape")
              .Input("contents: string")
              .Output("image_shape: output_type")
              .Attr("output_type: {int32, int64} = DT_INT32")
              .Shape(JpegShapeShape)
              .Doc("Height, width and channels of a JPEG image, which is not decoded."));
  ops.Add(OpSchemaBuilder("EncodePng")
              .Input("image: T")
              .Output("contents: string")
              .Attr("compression: int = -1")
              .Attr("T: {uint8, uint16} = DT_UINT8")
              .Shape(EncodedShape)
              .Doc("Images as PNG files."));
  ops.Add(OpSchemaBuilder("EncodeJpeg")
              .Input("image: uint8")
              .Output("contents: string")
              .Attr("format: {'', 'grayscale', 'rgb'} = ''")
              .Attr("quality: int = 95")
              .Attr("progressive: bool = false")
              .Attr("optimize_size: bool = false")
              .Attr("chroma_downsampling: bool = true")
              .Attr("density_unit: {'in', 'cm'} = 'in'")
              .Attr("x_density: int = 300")
              .Attr("y_density: int = 300")
              .Attr("xmp_metadata: string = ''")
              .Shape(EncodedOneShape)
              .Doc("An image as a JPEG file."));
  ops.Add(OpSchemaBuilder("EncodeJpegVariableQuality")
              .Input("images: uint8")
              .Input("quality: int32")
              .Output("contents: string")
              .Shape(EncodedOneShape)
              .Doc("An image as a JPEG file of a quality from 0 to 100."));
}

}  // namespace tensorfleet
