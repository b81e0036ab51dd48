// Normalizations: across neighbouring channels, and over a batch. Kernels:
// runtime/kernels/cpu/nn/lrn.cc, batch_norm.cc.
#include "absl/strings/str_cat.h"
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// The number of channels of input `image`, merged with the length of the vectors [first, last).
StatusOr<int64_t> ChannelsOf(ShapeContext& ctx, int image, int first, int last) {
  TFLEET_ASSIGN_OR_RETURN(const std::string format, ctx.Attr<std::string>("data_format"));
  const PartialShape& x = ctx.input(image);
  int64_t channels = PartialShape::kUnknownDim;
  if (x.has_rank()) {
    if (x.rank() < 4 || x.rank() > 5) {
      return InvalidArgument("x must be 4 or 5-dimensional, but is ", x.ToString());
    }
    channels = x.dim(format == "NCHW" || format == "NCDHW" ? 1 : -1);
  }
  for (int i = first; i < last; ++i) {
    TFLEET_RETURN_IF_ERROR(ctx.RequireRank(i, 1));
    if (!ctx.input(i).has_rank()) continue;
    TFLEET_ASSIGN_OR_RETURN(channels, shapes::MergeDims(channels, ctx.input(i).dim(0)));
  }
  return channels;
}

Status BatchNormShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const bool is_training, ctx.Attr<bool>("is_training"));
  // Mean and variance may be empty when the batch's own are used.
  TFLEET_ASSIGN_OR_RETURN(const int64_t channels, ChannelsOf(ctx, 0, 1, is_training ? 3 : 5));
  ctx.set_output(0, ctx.input(0));
  for (int i = 1; i < 5; ++i) ctx.set_output(i, PartialShape({channels}));
  if (ctx.num_outputs() > 5) ctx.set_output(5, PartialShape(Shape()));
  return OkStatus();
}

Status BatchNormGradShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape image, ctx.input(0).MergedWith(ctx.input(1)));
  TFLEET_ASSIGN_OR_RETURN(const int64_t channels, ChannelsOf(ctx, 1, 2, 5));
  ctx.set_output(0, std::move(image));
  for (const int i : {1, 2}) ctx.set_output(i, PartialShape({channels}));
  for (const int i : {3, 4}) ctx.set_output(i, PartialShape({0}));
  return OkStatus();
}

Status LrnGradShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(shapes::MergeInputs(ctx));
  return ctx.RequireRank(0, 4);
}

OpSchemaBuilder WithRadius(const char* name) {
  return OpSchemaBuilder(name)
      .Output("output: T")
      .Attr("depth_radius: int = 5")
      .Attr("bias: float = 1.0")
      .Attr("alpha: float = 1.0")
      .Attr("beta: float = 0.5")
      .Attr("T: {half, bfloat16, float} = DT_FLOAT");
}

// What the three versions of FusedBatchNorm differ in.
struct Version {
  const char* suffix;
  const char* statistics;  // the type of scale, offset, mean and variance
  const char* grad_scale;  // of the gradient's scale
  const char* types;
  const char* statistics_types;  // null when they are of type T
  const char* grad_statistics_types;
  const char* formats;
  bool has_third_reserve;
};
constexpr char kSmallFormats[] = "data_format: {'NHWC', 'NCHW'} = 'NHWC'";
constexpr char kAllFormats[] = "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'";
constexpr char kHalfToFloat[] = "T: {half, bfloat16, float}";
constexpr Version kVersions[] = {
    {"", "T", "T", "T: {float}", nullptr, nullptr, kSmallFormats, false},
    {"V2", "U", "float", kHalfToFloat, "U: {float}", "U: {float}", kSmallFormats, false},
    {"V3", "U", "float", kHalfToFloat, "U: {bfloat16, float}", "U: {float}", kAllFormats, true},
};

void RegisterBatchNorm(OpRegistry& ops, const Version& version) {
  const auto of = [&](const char* name) { return absl::StrCat(name, ": ", version.statistics); };
  OpSchemaBuilder op(absl::StrCat("FusedBatchNorm", version.suffix));
  op.Input("x: T").Output("y: T").Attr(version.types);
  for (const char* name : {"scale", "offset", "mean", "variance"}) op.Input(of(name));
  for (const char* name : {"batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}) {
    op.Output(of(name));
  }
  if (version.has_third_reserve) op.Output(of("reserve_space_3"));
  if (version.statistics_types != nullptr) op.Attr(version.statistics_types);
  ops.Add(op.Attr("epsilon: float = 0.0001")
              .Attr("exponential_avg_factor: float = 1.0")
              .Attr(version.formats)
              .Attr("is_training: bool = true")
              .Shape(BatchNormShape)
              .Doc("(x - mean) / sqrt(variance + epsilon) * scale + offset for each channel, in "
                   "training with the mean and variance of the batch."));

  OpSchemaBuilder grad(absl::StrCat("FusedBatchNormGrad", version.suffix));
  grad.Input("y_backprop: T")
      .Input("x: T")
      .Input(absl::StrCat("scale: ", version.grad_scale))
      .Input(of("reserve_space_1"))
      .Input(of("reserve_space_2"))
      .Attr(version.types);
  if (version.has_third_reserve) grad.Input(of("reserve_space_3"));
  if (version.grad_statistics_types != nullptr) grad.Attr(version.grad_statistics_types);
  const char* const reserves[2] = {
      version.has_third_reserve ? "reserve_space_4" : "reserve_space_3",
      version.has_third_reserve ? "reserve_space_5" : "reserve_space_4"};
  ops.Add(grad.Output("x_backprop: T")
              .Output(of("scale_backprop"))
              .Output(of("offset_backprop"))
              .Output(of(reserves[0]))
              .Output(of(reserves[1]))
              .Attr("epsilon: float = 0.0001")
              .Attr(version.formats)
              .Attr("is_training: bool = true")
              .Shape(BatchNormGradShape)
              .Doc("The gradient of FusedBatchNorm for x, scale and offset."));
}

}  // namespace

void RegisterNormalizationOps(OpRegistry& ops) {
  ops.Add(
      WithRadius("LRN")
          .Input("input: T")
          .Shape(shapes::UnchangedOfRank<4>)
          .Doc("x / (bias + alpha * s)^beta, where s is the sum of squares over the channels at "
               "most depth_radius away."));
  ops.Add(WithRadius("LRNGrad")
              .Input("input_grads: T")
              .Input("input_image: T")
              .Input("output_image: T")
              .Shape(LrnGradShape)
              .Doc("The gradient of LRN."));
  for (const Version& version : kVersions) RegisterBatchNorm(ops, version);
}

}  // namespace tensorfleet
