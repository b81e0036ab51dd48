// Biases, softmax, cross entropies.
#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// The axis of channels by data_format: 1 for NCHW, else the last.
StatusOr<int> ChannelAxis(LoweringContext& ctx, const Shape& shape) {
  const StatusOr<std::string> format = ctx.Attr<std::string>("data_format");
  if (shape.rank() < 2) return Unimplemented("fewer than two dimensions");
  return format.ok() && format->substr(0, 2) == "NC" ? 1 : shape.rank() - 1;
}

Status BiasAdd(LoweringContext& ctx) {
  const Hlo x = ctx.input(0), bias = ctx.input(1);
  TFLEET_ASSIGN_OR_RETURN(const int axis, ChannelAxis(ctx, x.shape));
  if (bias.shape.rank() != 1 || bias.shape.dim(0) != x.shape.dim(axis)) {
    return Unimplemented("a bias that does not fit");
  }
  ctx.Set(0, ctx.hlo().Add(x, ctx.hlo().Broadcast(bias, x.shape, {axis})));
  return OkStatus();
}

Status BiasAddGrad(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int axis, ChannelAxis(ctx, ctx.shape(0)));
  std::vector<int64_t> others;
  for (int i = 0; i < ctx.shape(0).rank(); ++i) {
    if (i != axis) others.push_back(i);
  }
  HloBuilder& b = ctx.hlo();
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(ctx.dtype(0)));
  ctx.Set(0, b.Convert(b.Reduce("add", x, b.Scalar(x.dtype, 0), others), ctx.dtype(0)));
  return OkStatus();
}

// One value for each row of all but the last dimension, repeated along it.
struct Rows {
  HloBuilder& b;
  std::vector<int64_t> lead;  // all but the last axis
  int64_t last;

  Rows(HloBuilder& builder, const Shape& shape) : b(builder), last(shape.rank() - 1) {
    for (int64_t i = 0; i < last; ++i) lead.push_back(i);
  }
  Hlo Max(const Hlo& x) const {
    return b.Reduce("maximum", x, b.Scalar(x.dtype, -std::numeric_limits<double>::infinity()),
                    {last});
  }
  Hlo Sum(const Hlo& x) const { return b.Reduce("add", x, b.Scalar(x.dtype, 0), {last}); }
  Hlo Spread(const Hlo& rows, const Shape& shape) const { return b.Broadcast(rows, shape, lead); }
  // x - max(x), and the logarithm of the sum of its exponentials.
  std::pair<Hlo, Hlo> Shifted(const Hlo& x) const {
    const Hlo shifted = b.Sub(x, Spread(Max(x), x.shape));
    return {shifted, b.Unary("log", Sum(b.Unary("exponential", shifted)))};
  }
};

Status Softmax(LoweringContext& ctx) {
  if (ctx.shape(0).rank() < 1 || ctx.shape(0).dim(-1) == 0) return Unimplemented("nothing");
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  const Rows rows(b, x.shape);
  const Hlo e = b.Unary("exponential", b.Sub(x, rows.Spread(rows.Max(x), x.shape)));
  ctx.Set(0, b.Convert(b.Div(e, rows.Spread(rows.Sum(e), x.shape)), dtype));
  return OkStatus();
}

Status LogSoftmax(LoweringContext& ctx) {
  if (ctx.shape(0).rank() < 1 || ctx.shape(0).dim(-1) == 0) return Unimplemented("nothing");
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  const Rows rows(b, x.shape);
  const auto [shifted, log_sum] = rows.Shifted(x);
  ctx.Set(0, b.Convert(b.Sub(shifted, rows.Spread(log_sum, x.shape)), dtype));
  return OkStatus();
}

// Sets outputs 0 and 1 for logits and one label distribution a row.
void CrossEntropy(LoweringContext& ctx, const Hlo& logits, const Hlo& labels) {
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  const Rows rows(b, logits.shape);
  const auto [shifted, log_sum] = rows.Shifted(logits);
  const Hlo log_probability = b.Sub(shifted, rows.Spread(log_sum, logits.shape));
  // 0 times minus infinity counts as 0.
  const Hlo zero = b.Full(logits.dtype, logits.shape, 0);
  const Hlo terms = b.Select(b.Compare("EQ", labels, zero), zero, b.Mul(labels, log_probability));
  ctx.Set(0, b.Convert(b.Unary("negate", rows.Sum(terms)), dtype));
  const Hlo probability = b.Unary("exponential", log_probability);
  ctx.Set(1, b.Convert(b.Sub(probability, labels), dtype));
}

Status SoftmaxCrossEntropy(LoweringContext& ctx) {
  if (ctx.shape(0).rank() != 2) return Unimplemented("logits that are no matrix");
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  if (shape.dim(1) == 0) return Unimplemented("no classes");
  HloBuilder& b = ctx.hlo();
  const DType wide = AccumulatorType(ctx.dtype(0));
  CrossEntropy(ctx, b.Convert(b.BroadcastTo(ctx.input(0), shape), wide),
               b.Convert(b.BroadcastTo(ctx.input(1), shape), wide));
  return OkStatus();
}

// A label that is no class gives NaN, as on TensorFlow's GPUs.
Status SparseSoftmaxCrossEntropy(LoweringContext& ctx) {
  const Shape& shape = ctx.shape(0);
  if (shape.rank() != 2 || ctx.shape(1).rank() != 1 || ctx.shape(1).dim(0) != shape.dim(0) ||
      shape.dim(1) == 0) {
    return Unimplemented("labels that do not fit");
  }
  HloBuilder& b = ctx.hlo();
  const Hlo logits = b.Convert(ctx.input(0), AccumulatorType(ctx.dtype(0)));
  const Hlo label = ctx.input(1);
  const Hlo labels = b.Broadcast(label, shape, {0});
  const Hlo is_class = b.Compare("EQ", labels, b.Iota(label.dtype, shape, 1));
  Hlo one_hot = b.Convert(is_class, logits.dtype);
  const Hlo above = b.Compare("GE", label, b.Full(label.dtype, label.shape, 0));
  const Hlo below =
      b.Compare("LT", label, b.Full(label.dtype, label.shape, static_cast<double>(shape.dim(1))));
  const Hlo is_valid = b.Broadcast(b.Binary("and", above, below), shape, {0});
  one_hot = b.Select(is_valid, one_hot,
                     b.Full(logits.dtype, shape, std::numeric_limits<double>::quiet_NaN()));
  CrossEntropy(ctx, logits, one_hot);
  return OkStatus();
}

}  // namespace

void AddNnLowerings(LoweringRegistry& r) {
  const std::vector<DType>& floats = FloatTypes();
  r.Add("BiasAdd", BiasAdd, {{"T", floats}});
  r.Add("BiasAddV1", BiasAdd, {{"T", floats}});
  r.Add("BiasAddGrad", BiasAddGrad, {{"T", floats}});
  r.Add("Softmax", Softmax, {{"T", floats}});
  r.Add("LogSoftmax", LogSoftmax, {{"T", floats}});
  r.Add("SoftmaxCrossEntropyWithLogits", SoftmaxCrossEntropy, {{"T", floats}});
  r.Add("SparseSoftmaxCrossEntropyWithLogits", SparseSoftmaxCrossEntropy,
        {{"T", floats}, {"Tlabels", {DType::kInt32, DType::kInt64}}});
}

}  // namespace tensorfleet::pjrt
