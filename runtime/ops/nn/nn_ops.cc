// Biases, softmax and its losses, checks of values, the k largest.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr char kFloats[] = "T: {half, bfloat16, float, double}";
constexpr char kReals[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";

Status BiasAddShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  PartialShape out = ctx.input(0);
  if (out.has_rank()) {
    StatusOr<std::string> format = ctx.Attr<std::string>("data_format");
    const bool channels_first = format.ok() && *format == "NCHW";
    TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 2));
    const int channels = channels_first ? 1 : out.rank() - 1;
    if (ctx.input(1).has_rank()) {
      TFLEET_ASSIGN_OR_RETURN(const int64_t size,
                              shapes::MergeDims(out.dim(channels), ctx.input(1).dim(0)));
      out.set_dim(channels, size);
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status BiasAddGradShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::string format, ctx.Attr<std::string>("data_format"));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 2));
  const PartialShape& in = ctx.input(0);
  PartialShape out = PartialShape::UnknownOfRank(1);
  if (in.has_rank()) out.set_dim(0, in.dim(format == "NCHW" ? 1 : in.rank() - 1));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status SoftmaxShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  return shapes::Unchanged(ctx);
}

Status CrossEntropyShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape both, shapes::BroadcastPartial(ctx.input(0), ctx.input(1)));
  if (!both.has_rank()) both = PartialShape::UnknownOfRank(2);
  if (both.rank() != 2) {
    return InvalidArgument("Shape must be rank 2 but is rank ", both.rank(),
                           " for logits and labels");
  }
  ctx.set_output(0, PartialShape({both.dim(0)}));
  ctx.set_output(1, std::move(both));
  return OkStatus();
}

Status SparseCrossEntropyShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  PartialShape backprop = ctx.input(0).has_rank() ? ctx.input(0) : PartialShape::UnknownOfRank(2);
  const int64_t labels = ctx.input(1).has_rank() ? ctx.input(1).dim(0) : PartialShape::kUnknownDim;
  TFLEET_ASSIGN_OR_RETURN(const int64_t batch, shapes::MergeDims(backprop.dim(0), labels));
  backprop.set_dim(0, batch);
  ctx.set_output(0, PartialShape({batch}));
  ctx.set_output(1, std::move(backprop));
  return OkStatus();
}

Status InTopKShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  const int64_t predictions =
      ctx.input(0).has_rank() ? ctx.input(0).dim(0) : PartialShape::kUnknownDim;
  const int64_t targets = ctx.input(1).has_rank() ? ctx.input(1).dim(0) : PartialShape::kUnknownDim;
  TFLEET_ASSIGN_OR_RETURN(const int64_t batch, shapes::MergeDims(predictions, targets));
  ctx.set_output(0, PartialShape({batch}));
  return OkStatus();
}

Status SetTopK(ShapeContext& ctx, int64_t k) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  PartialShape out = ctx.input(0);
  if (!out.has_rank()) return OkStatus();
  if (k > out.dim(-1) && out.has_dim(-1)) {
    return InvalidArgument("input must have last dimension >= k = ", k, " but is ", out.dim(-1));
  }
  out.set_dim(-1, k);
  ctx.set_output(0, out);
  ctx.set_output(1, std::move(out));
  return OkStatus();
}

Status TopKShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t k, ctx.Attr<int64_t>("k"));
  return SetTopK(ctx, k);
}

Status TopKV2Shape(ShapeContext& ctx) {
  const Tensor* k = ctx.constant_input(1);
  if (k == nullptr || k->num_elements() != 1) return SetTopK(ctx, PartialShape::kUnknownDim);
  int64_t value = 0;
  switch (k->dtype()) {
    case DType::kInt16:
      value = k->scalar<int16_t>();
      break;
    case DType::kInt32:
      value = k->scalar<int32_t>();
      break;
    default:
      value = k->scalar<int64_t>();
      break;
  }
  if (value < 0) return InvalidArgument("Need k >= 0, got ", value);
  return SetTopK(ctx, value);
}

}  // namespace

void RegisterNnOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("BiasAdd")
              .Input("value: T")
              .Input("bias: T")
              .Output("output: T")
              .Attr("T: numbertype")
              .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
              .Shape(BiasAddShape)
              .Doc("Adds a vector to every row along the channels, the last dimension or with NCHW "
                   "the second."));
  ops.Add(OpSchemaBuilder("BiasAddV1")
              .Input("value: T")
              .Input("bias: T")
              .Output("output: T")
              .Attr("T: numbertype")
              .Shape(BiasAddShape)
              .Doc("Adds a vector to every row."));
  ops.Add(
      OpSchemaBuilder("BiasAddGrad")
          .Input("out_backprop: T")
          .Output("output: T")
          .Attr("T: numbertype")
          .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
          .Shape(BiasAddGradShape)
          .Doc("The gradient of BiasAdd for its bias: the sum over everything but the channels."));
  ops.Add(OpSchemaBuilder("Softmax")
              .Input("logits: T")
              .Output("softmax: T")
              .Attr(kFloats)
              .Shape(SoftmaxShape)
              .Doc("exp(x) / sum(exp(x)) along the last dimension."));
  ops.Add(OpSchemaBuilder("LogSoftmax")
              .Input("logits: T")
              .Output("logsoftmax: T")
              .Attr(kFloats)
              .Shape(SoftmaxShape)
              .Doc("x - log(sum(exp(x))) along the last dimension."));
  ops.Add(OpSchemaBuilder("SoftmaxCrossEntropyWithLogits")
              .Input("features: T")
              .Input("labels: T")
              .Output("loss: T")
              .Output("backprop: T")
              .Attr(kFloats)
              .Shape(CrossEntropyShape)
              .Doc("The cross entropy of each row's softmax with the row's label distribution, and "
                   "its gradient."));
  ops.Add(OpSchemaBuilder("SparseSoftmaxCrossEntropyWithLogits")
              .Input("features: T")
              .Input("labels: Tlabels")
              .Output("loss: T")
              .Output("backprop: T")
              .Attr(kFloats)
              .Attr("Tlabels: {int32, int64} = DT_INT64")
              .Shape(SparseCrossEntropyShape)
              .Doc("The cross entropy of each row's softmax with one true class per row, and its "
                   "gradient."));
  for (const char* name : {"CheckNumerics", "CheckNumericsV2"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("tensor: T")
                .Output("output: T")
                .Attr("T: {bfloat16, half, float, double}")
                .Attr("message: string")
                .Stateful()
                .Shape(shapes::Unchanged)
                .Doc("Passes the tensor on; NaN or infinity in it is an error that starts with the "
                     "message."));
  }
  ops.Add(OpSchemaBuilder("InTopK")
              .Input("predictions: float")
              .Input("targets: T")
              .Output("precision: bool")
              .Attr("k: int")
              .Attr("T: {int32, int64} = DT_INT32")
              .Shape(InTopKShape)
              .Doc("Whether each row's target class is among its k largest predictions."));
  ops.Add(OpSchemaBuilder("InTopKV2")
              .Input("predictions: float")
              .Input("targets: T")
              .Input("k: T")
              .Output("precision: bool")
              .Attr("T: {int32, int64} = DT_INT32")
              .Shape(InTopKShape)
              .Doc("Whether each row's target class is among its k largest predictions."));
  ops.Add(OpSchemaBuilder("TopK")
              .Input("input: T")
              .Output("values: T")
              .Output("indices: int32")
              .Attr("k: int >= 0")
              .Attr("sorted: bool = true")
              .Attr(kReals)
              .Shape(TopKShape)
              .Doc("The k largest elements along the last dimension and where they are."));
  ops.Add(OpSchemaBuilder("TopKV2")
              .Input("input: T")
              .Input("k: Tk")
              .Output("values: T")
              .Output("indices: index_type")
              .Attr("sorted: bool = true")
              .Attr(kReals)
              .Attr("Tk: {int16, int32, int64} = DT_INT32")
              .Attr("index_type: {int16, int32, int64} = DT_INT32")
              .Shape(TopKV2Shape)
              .Doc("The k largest elements along the last dimension and where they are."));
}

}  // namespace tensorfleet
