// Colours of images, boxes in them. Kernels: runtime/kernels/cpu/image/colors.cc, boxes.cc,
// non_max_suppression.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

int64_t DimOf(const PartialShape& shape, int d) { return shape.has_rank() ? shape.dim(d) : kOpen; }

Status ColorsShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  const PartialShape& images = ctx.input(0);
  if (images.has_rank() && images.dim(images.rank() - 1) != kOpen &&
      images.dim(images.rank() - 1) != 3) {
    return InvalidArgument("Dimension must be 3 but is ", images.dim(images.rank() - 1));
  }
  return shapes::Unchanged(ctx);
}

Status AdjustShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 3));
  return shapes::Unchanged(ctx);
}

Status DrawShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 3));
  return shapes::Unchanged(ctx);
}

// Boxes [n, 4] with scores [n] and scalars behind them.
Status CheckBoxes(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  for (int i = 2; i < ctx.num_inputs(); ++i) TFLEET_RETURN_IF_ERROR(ctx.RequireRank(i, 0));
  TFLEET_RETURN_IF_ERROR(
      shapes::MergeDims(DimOf(ctx.input(0), 0), DimOf(ctx.input(1), 0)).status());
  const int64_t sides = DimOf(ctx.input(0), 1);
  if (sides != kOpen && sides != 4 && ctx.node().op() != "NonMaxSuppressionWithOverlaps") {
    return InvalidArgument("Dimension must be 4 but is ", sides);
  }
  return OkStatus();
}

Status SelectedShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckBoxes(ctx));
  int64_t length = kOpen;
  if (FindAttr(ctx.node().def(), "pad_to_max_output_size") != nullptr) {
    TFLEET_ASSIGN_OR_RETURN(const bool pads, ctx.Attr<bool>("pad_to_max_output_size"));
    const std::optional<int64_t> most = shapes::ConstantInteger(ctx, 2);
    if (pads && most && *most >= 0) length = *most;
  }
  ctx.set_output(0, shapes::VectorOf(length));
  if (ctx.num_outputs() == 3) ctx.set_output(1, shapes::VectorOf(length));
  if (ctx.num_outputs() > 1) ctx.set_output(ctx.num_outputs() - 1, shapes::ScalarShape());
  return OkStatus();
}

OpSchemaBuilder Suppression(const char* name) {
  return OpSchemaBuilder(name)
      .Input("boxes: T")
      .Input("scores: T")
      .Input("max_output_size: int32")
      .Shape(SelectedShape)
      .Doc("The boxes with the highest scores, without those that overlap better ones.");
}

}  // namespace

void RegisterImageOps(OpRegistry& ops) {
  for (const char* op : {"RGBToHSV", "HSVToRGB"}) {
    ops.Add(OpSchemaBuilder(op)
                .Input("images: T")
                .Output("output: T")
                .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
                .Shape(ColorsShape)
                .Doc("Colours as hue, saturation and value, or back."));
  }
  constexpr char kT[] = "T: {half, float} = DT_FLOAT";
  ops.Add(OpSchemaBuilder("AdjustContrastv2")
              .Input("images: T")
              .Input("contrast_factor: float")
              .Output("output: T")
              .Attr(kT)
              .Shape(AdjustShape)
              .Doc("Each channel of each image, its distance from its mean multiplied."));
  ops.Add(OpSchemaBuilder("AdjustHue")
              .Input("images: T")
              .Input("delta: float")
              .Output("output: T")
              .Attr(kT)
              .Shape(AdjustShape)
              .Doc("Colours with another hue."));
  ops.Add(OpSchemaBuilder("AdjustSaturation")
              .Input("images: T")
              .Input("scale: float")
              .Output("output: T")
              .Attr(kT)
              .Shape(AdjustShape)
              .Doc("Colours with another saturation."));
  ops.Add(OpSchemaBuilder("DrawBoundingBoxes")
              .Input("images: T")
              .Input("boxes: float")
              .Output("output: T")
              .Attr("T: {float, half} = DT_FLOAT")
              .Shape(DrawShape)
              .Doc("Images with the outlines of boxes."));
  ops.Add(OpSchemaBuilder("DrawBoundingBoxesV2")
              .Input("images: T")
              .Input("boxes: float")
              .Input("colors: float")
              .Output("output: T")
              .Attr("T: {float, half} = DT_FLOAT")
              .Shape(DrawShape)
              .Doc("Images with the outlines of boxes, in given colours."));
  ops.Add(OpSchemaBuilder("NonMaxSuppression")
              .Input("boxes: float")
              .Input("scores: float")
              .Input("max_output_size: int32")
              .Output("selected_indices: int32")
              .Attr("iou_threshold: float = 0.5")
              .Shape(SelectedShape)
              .Doc("The boxes with the highest scores, without those that overlap better ones."));
  constexpr char kThreshold[] = "T_threshold: {half, float} = DT_FLOAT";
  ops.Add(Suppression("NonMaxSuppressionV2")
              .Input("iou_threshold: T_threshold")
              .Output("selected_indices: int32")
              .Attr(kT)
              .Attr(kThreshold));
  ops.Add(Suppression("NonMaxSuppressionV3")
              .Input("iou_threshold: T_threshold")
              .Input("score_threshold: T_threshold")
              .Output("selected_indices: int32")
              .Attr(kT)
              .Attr(kThreshold));
  ops.Add(Suppression("NonMaxSuppressionV4")
              .Input("iou_threshold: T_threshold")
              .Input("score_threshold: T_threshold")
              .Output("selected_indices: int32")
              .Output("valid_outputs: int32")
              .Attr(kT)
              .Attr(kThreshold)
              .Attr("pad_to_max_output_size: bool = false"));
  ops.Add(Suppression("NonMaxSuppressionV5")
              .Input("iou_threshold: T")
              .Input("score_threshold: T")
              .Input("soft_nms_sigma: T")
              .Output("selected_indices: int32")
              .Output("selected_scores: T")
              .Output("valid_outputs: int32")
              .Attr(kT)
              .Attr("pad_to_max_output_size: bool = false"));
  ops.Add(OpSchemaBuilder("NonMaxSuppressionWithOverlaps")
              .Input("overlaps: float")
              .Input("scores: float")
              .Input("max_output_size: int32")
              .Input("overlap_threshold: float")
              .Input("score_threshold: float")
              .Output("selected_indices: int32")
              .Shape(SelectedShape)
              .Doc("The boxes with the highest scores, without those that overlap better ones."));
}

}  // namespace tensorfleet
